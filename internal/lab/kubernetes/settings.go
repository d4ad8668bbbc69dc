package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// The configuration files of the components, in JSON, which is valid YAML. Only fields that a machine configuration does not
// contain as a whole have types here.
type (
	header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	admissionConfiguration struct {
		header
		Plugins []admissionPlugin `json:"plugins"`
	}
	admissionPlugin struct {
		Name          string         `json:"name"`
		Configuration map[string]any `json:"configuration"`
	}
	authorizationConfiguration struct {
		header
		Authorizers []authorizer `json:"authorizers"`
	}
	authorizer struct {
		Type    string         `json:"type"`
		Name    string         `json:"name"`
		Webhook map[string]any `json:"webhook,omitempty"`
	}
	encryptionConfiguration struct {
		header
		Resources []encryptedResources `json:"resources"`
	}
	encryptedResources struct {
		Resources []string             `json:"resources"`
		Providers []encryptionProvider `json:"providers"`
	}
	encryptionProvider struct {
		Secretbox *encryptionKeys `json:"secretbox,omitempty"`
		AESCBC    *encryptionKeys `json:"aescbc,omitempty"`
		Identity  *struct{}       `json:"identity,omitempty"`
	}
	encryptionKeys struct {
		Keys []encryptionKey `json:"keys"`
	}
	encryptionKey struct {
		Name   string `json:"name"`
		Secret string `json:"secret"`
	}
)

// apiServerGroup is the API version of the API server's own configuration files.
const apiServerGroup = "apiserver.config.k8s.io/v1"

// writeSettings writes the configuration files of the components (k8s/render_config_static_pods.go).
func (f folder) writeSettings(cfg config.Provider) error {
	var errs []error
	for _, file := range []struct {
		path    string
		content any
	}{
		{f.setting("admission-control-config.yaml"), admission(cfg)},
		{f.setting("auditpolicy.yaml"), cfg.Cluster().APIServer().AuditPolicy()},
		{f.setting("authorization-config.yaml"), authorization(cfg)},
		{f.setting("scheduler-config.yaml"), f.scheduling(cfg)},
		{f.secret("encryptionconfig.yaml"), encryption(cfg)},
	} {
		text, err := json.MarshalIndent(file.content, "", "  ")
		if err == nil {
			err = write(file.path, text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", file.path, err))
		}
	}
	return errors.Join(errs...)
}

func admission(cfg config.Provider) admissionConfiguration {
	c := admissionConfiguration{header: header{apiServerGroup, "AdmissionConfiguration"}, Plugins: []admissionPlugin{}}
	for _, plugin := range cfg.Cluster().APIServer().AdmissionControl() {
		c.Plugins = append(c.Plugins, admissionPlugin{plugin.Name(), plugin.Configuration()})
	}
	return c
}

// authorization puts Node and RBAC first, unless the machine configuration contains them (k8s/control_plane.go).
func authorization(cfg config.Provider) authorizationConfiguration {
	api := cfg.Cluster().APIServer()
	version := compatibility.VersionFromImageRef(api.Image()).KubeAPIServerAuthorizationConfigAPIVersion()
	c := authorizationConfiguration{header: header{version, "AuthorizationConfiguration"}}
	for _, a := range api.AuthorizationConfig() {
		c.Authorizers = append(c.Authorizers, authorizer{a.Type(), a.Name(), a.Webhook()})
	}
	for i, own := range v1alpha1.APIServerDefaultAuthorizationConfigAuthorizers {
		if !slices.ContainsFunc(c.Authorizers, func(a authorizer) bool { return a.Type == own.Type }) {
			c.Authorizers = slices.Insert(c.Authorizers, min(i, len(c.Authorizers)), ownAuthorizer(own))
		}
	}
	return c
}

func ownAuthorizer(spec k8s.AuthorizationAuthorizersSpec) authorizer {
	return authorizer{Type: spec.Type, Name: spec.Name}
}

// encryption returns the encryption of Secrets in etcd (k8s/internal/k8stemplates/apiserver.go).
func encryption(cfg config.Provider) encryptionConfiguration {
	var providers []encryptionProvider
	if secret := cfg.Cluster().SecretboxEncryptionSecret(); secret != "" {
		providers = append(providers, encryptionProvider{Secretbox: &encryptionKeys{[]encryptionKey{{"key2", secret}}}})
	}
	if secret := cfg.Cluster().AESCBCEncryptionSecret(); secret != "" {
		providers = append(providers, encryptionProvider{AESCBC: &encryptionKeys{[]encryptionKey{{"key1", secret}}}})
	}
	providers = append(providers, encryptionProvider{Identity: &struct{}{}})
	return encryptionConfiguration{
		header:    header{"v1", "EncryptionConfig"},
		Resources: []encryptedResources{{Resources: []string{"secrets"}, Providers: providers}},
	}
}

// scheduling returns the scheduler settings of the machine configuration with the kubeconfig of this folder.
func (f folder) scheduling(cfg config.Provider) map[string]any {
	c := maps.Clone(cfg.Cluster().Scheduler().Config())
	if c == nil {
		c = map[string]any{}
	}
	c["apiVersion"], c["kind"] = "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration"
	connection, ok := c["clientConnection"].(map[string]any)
	if connection = maps.Clone(connection); !ok {
		connection = map[string]any{}
	}
	connection["kubeconfig"] = f.secret("scheduler.kubeconfig")
	c["clientConnection"] = connection
	return c
}
