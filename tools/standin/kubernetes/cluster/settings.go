// Package cluster connects to a Kubernetes cluster with the inputs of a provider resource.
package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Settings are the inputs of the resource pulumi:providers:kubernetes: all inputs of the SDK 4.30.0 (providerArgs in
// go/kubernetes/provider.go), with the environment variables that replace missing ones (Configure in provider.go).
type Settings struct {
	Kubeconfig        string `json:"kubeconfig"` // its text, or a path; if empty, that of the environment
	Context           string `json:"context"`    // of the kubeconfig
	Cluster           string `json:"cluster"`    // of the kubeconfig
	Namespace         string `json:"namespace"`  // for objects without a namespace; if empty, that of the context
	ClusterIdentifier string `json:"clusterIdentifier"`

	DeleteUnreachable      *bool `json:"deleteUnreachable"`
	SkipUpdateUnreachable  *bool `json:"skipUpdateUnreachable"`
	EnablePatchForce       *bool `json:"enablePatchForce"`
	EnableSecretMutable    *bool `json:"enableSecretMutable"`
	EnableConfigMapMutable *bool `json:"enableConfigMapMutable"`
	EnableServerSideApply  *bool `json:"enableServerSideApply"`
	UpsertExistingObjects  *bool `json:"upsertExistingObjects"`

	SuppressDeprecationWarnings *bool `json:"suppressDeprecationWarnings"` // the stand-in has none
	SuppressHelmHookWarnings    *bool `json:"suppressHelmHookWarnings"`    // the stand-in has none

	RenderYAMLToDirectory string `json:"renderYamlToDirectory"`
	AlwaysRender          *bool  `json:"alwaysRender"`

	Client ClientSettings `json:"kubeClientSettings"`
	Helm   HelmSettings   `json:"helmReleaseSettings"`
}

// ClientSettings are the settings of the API server's client.
type ClientSettings struct {
	Burst   *int     `json:"burst"`   // default: 120
	QPS     *float64 `json:"qps"`     // default: 50
	Timeout *int     `json:"timeout"` // seconds for each request; default: no limit
}

// HelmSettings are the places of Helm's files. Default: Helm's own places.
type HelmSettings struct {
	Driver               string `json:"driver"` // of the releases' storage; default: secret
	PluginsPath          string `json:"pluginsPath"`
	RegistryConfigPath   string `json:"registryConfigPath"`
	RepositoryCache      string `json:"repositoryCache"`
	RepositoryConfigPath string `json:"repositoryConfigPath"`
}

// variables are the environment variables of switches, which are used if the input is missing.
var variables = map[string]string{
	"deleteUnreachable":           "PULUMI_K8S_DELETE_UNREACHABLE",
	"skipUpdateUnreachable":       "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
	"enablePatchForce":            "PULUMI_K8S_ENABLE_PATCH_FORCE",
	"enableSecretMutable":         "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
	"enableConfigMapMutable":      "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
	"enableServerSideApply":       "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
	"upsertExistingObjects":       "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
	"suppressDeprecationWarnings": "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS",
	"suppressHelmHookWarnings":    "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS",
}

// ofTheEngine are the inputs that every provider resource has.
var ofTheEngine = []string{"version", "pluginDownloadURL", "parameterization", "__internal"}

// Inputs returns the types of all inputs, by their names.
func Inputs() map[string]string { return properties.Types[Settings]() }

// ClientInputs returns the types of the inputs in kubeClientSettings.
func ClientInputs() map[string]string { return properties.Types[ClientSettings]() }

// HelmInputs returns the types of the inputs in helmReleaseSettings.
func HelmInputs() map[string]string { return properties.Types[HelmSettings]() }

// CheckSettings returns a failure for each input that the official provider does not have, or that the stand-in does not support.
func CheckSettings(inputs resource.PropertyMap) []operation.Failure {
	var failures []operation.Failure
	fail := func(name, reason string) {
		failures = append(failures, operation.Failure{Property: name, Reason: reason})
	}
	known := Inputs()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if known[string(name)] == "" && !slices.Contains(ofTheEngine, string(name)) {
			fail(string(name), "the provider kubernetes has no such input: take it away")
		}
	}
	if value := inputs["renderYamlToDirectory"]; value.HasValue() && (!value.IsString() || value.StringValue() != "") {
		fail("renderYamlToDirectory", "the stand-in renders no YAML: take it away, or use the official provider")
	}
	if value := inputs["enableServerSideApply"]; value.HasValue() && !isTrue(value) && !value.IsComputed() {
		fail("enableServerSideApply", "the stand-in knows server-side apply alone: leave it on, or use the official provider")
	}
	return failures
}

func isTrue(value resource.PropertyValue) bool {
	switch {
	case value.IsSecret():
		return isTrue(value.SecretValue().Element)
	case value.IsBool():
		return value.BoolValue()
	default:
		return value.IsString() && value.StringValue() == "true"
	}
}

// ParseSettings reads the inputs. Values of all types may also be strings, since the engine passes stack configuration that way. An
// environment variable is used if its input is missing.
func ParseSettings(inputs resource.PropertyMap) (Settings, error) {
	plain, values := properties.Plain(inputs), map[string]any{}
	for name, kind := range Inputs() {
		given, isGiven := plain[name]
		text, isText := given.(string)
		switch {
		case kind == "boolean" && isGiven:
			values[name] = given == true || given == "true"
		case kind == "boolean":
			if text, ok := os.LookupEnv(variables[name]); ok {
				values[name] = text == "true"
			}
		case kind == "object" && isText:
			values[name] = json.RawMessage(text)
		case kind == "string" && isGiven && !isText: // the official provider also accepts a kubeconfig as an object
			written, err := json.Marshal(properties.Blank(given))
			if err != nil {
				return Settings{}, fmt.Errorf("%s: %w", name, err)
			}
			values[name] = string(written)
		case isGiven:
			values[name] = given
		}
	}
	return decode(values)
}

func decode(values map[string]any) (Settings, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return Settings{}, fmt.Errorf("read the inputs of the provider: %w", err)
	}
	var settings Settings
	if err := json.Unmarshal(text, &settings); err != nil {
		return Settings{}, fmt.Errorf("read the inputs of the provider: %w", err)
	}
	return settings, nil
}

// On reports whether a switch is on.
func On(value *bool) bool { return value != nil && *value }
