// Package release serves Helm releases as resources: the token kubernetes:helm.sh/v3:Release, with Helm's own SDK.
//
// Inputs, outputs and semantics are those of pulumi-kubernetes v4.30.0 (provider/pkg/provider/helm_release.go of the
// repository at that tag).
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

// New serves the releases of a cluster. Where Helm keeps its files is for the provider's inputs to say, else for its
// environment variables, else for Helm.
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

// configuration is Helm's way into a namespace. What Helm says on the way is not shown: it may hold values.
func (r *Releases) configuration(namespace string) (*action.Configuration, error) {
	configuration := new(action.Configuration)
	silent := func(string, ...any) {}
	if err := configuration.Init(r.connection.Getter(namespace), namespace, r.driver, silent); err != nil {
		return nil, fmt.Errorf("open the releases of namespace %s: %w", namespace, err)
	}
	return configuration, nil
}

// registryClient is Helm's way to oci:// charts. Its configuration counts, unless the inputs give credentials: then they
// do, and with them the certificates that the inputs name, which do not count by themselves (getChart of the official
// provider).
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
