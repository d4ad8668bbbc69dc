// Package release serves Helm releases as resources: the token kubernetes:helm.sh/v3:Release. It uses Helm's own SDK.
//
// Inputs, outputs and semantics are those of pulumi-kubernetes v4.30.0 (provider/pkg/provider/helm_release.go of the repository at
// that tag).
package release

import (
	"fmt"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Token is the resource type that this package serves.
const Token tokens.Type = "kubernetes:helm.sh/v3:Release"

// Releases serves the releases of one cluster.
type Releases struct {
	connection *cluster.Connection
	log        operation.Log
	settings   *cli.EnvSettings
	driver     string
}

// New returns the server of a cluster's releases. The places of Helm's files are those of the provider's inputs, else of the
// provider's environment variables, else Helm's own.
func New(connection *cluster.Connection, log operation.Log) *Releases {
	helm, settings := connection.Settings.Helm, cli.New()
	for _, place := range []struct {
		target   *string
		given    string
		variable string
	}{
		{&settings.PluginsDirectory, helm.PluginsPath, "PULUMI_K8S_HELM_PLUGINS_PATH"},
		{&settings.RegistryConfig, helm.RegistryConfigPath, "PULUMI_K8S_HELM_REGISTRY_CONFIG_PATH"},
		{&settings.RepositoryConfig, helm.RepositoryConfigPath, "PULUMI_K8S_HELM_REPOSITORY_CONFIG_PATH"},
		{&settings.RepositoryCache, helm.RepositoryCache, "PULUMI_K8S_HELM_REPOSITORY_CACHE"},
	} {
		set(place.target, place.given, place.variable)
	}
	driver := "secret"
	set(&driver, helm.Driver, "PULUMI_K8S_HELM_DRIVER")
	return &Releases{connection: connection, log: log, settings: settings, driver: driver}
}

func set(target *string, given, variable string) {
	if text, ok := os.LookupEnv(variable); ok {
		*target = text
	}
	if given != "" {
		*target = given
	}
}

// configuration returns Helm's access to a namespace. Helm's logs are discarded, because they may contain values.
func (r *Releases) configuration(namespace string) (*action.Configuration, error) {
	configuration := new(action.Configuration)
	silent := func(string, ...any) {}
	if err := configuration.Init(r.connection.Getter(namespace), namespace, r.driver, silent); err != nil {
		return nil, fmt.Errorf("open the releases of namespace %s: %w", namespace, err)
	}
	return configuration, nil
}

// registryClient returns the client for oci:// charts. It uses Helm's registry configuration, unless the inputs contain
// credentials. Then it uses the credentials, and with them the certificates in the inputs. Certificates without credentials are
// ignored (getChart of the official provider).
func (r *Releases) registryClient(from *repository) (*registry.Client, error) {
	options := []registry.ClientOption{registry.ClientOptEnableCache(true)}
	if from == nil || from.Username == "" || from.Password == "" {
		return registry.NewClient(append(options, registry.ClientOptCredentialsFile(r.settings.RegistryConfig))...)
	}
	options = append(options, registry.ClientOptBasicAuth(from.Username, from.Password))
	if from.CAFile != "" || from.CertFile != "" {
		client, err := from.httpClient()
		if err != nil {
			return nil, err
		}
		options = append(options, registry.ClientOptHTTPClient(client))
	}
	return registry.NewClient(options...)
}
