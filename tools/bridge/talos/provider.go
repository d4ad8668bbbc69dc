// Package talos describes the Pulumi provider talos to the Terraform bridge. It uses the tokens of
// github.com/pulumiverse/pulumi-talos/sdk, so that programs written with that SDK run on it.
package talos

import (
	_ "embed" // The generated files are part of the plugin.

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/siderolabs/terraform-provider-talos/pkg/talos"

	"github.com/em-infra/em-infra/tools/bridge/packageschema"
)

// Name is the package name in every token, and NAME in the binary pulumi-resource-NAME.
const Name = "talos"

//go:embed schema.json
var schema []byte

//go:embed bridge-metadata.json
var metadata []byte

// Metadata returns the Pulumi package schema of a version and the bridge's notes, both in JSON.
func Metadata(version string) (pf.ProviderMetadata, error) {
	versioned, err := packageschema.WithVersion(schema, version)
	return pf.ProviderMetadata{PackageSchema: versioned, BridgeMetadata: metadata}, err
}

// Provider maps the types of the Terraform provider to tokens. The version is a semantic version without a leading v.
func Provider(version string) tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P:                 pf.ShimProvider(talos.New()),
		Name:              Name,
		GitHubOrg:         "siderolabs",
		DisplayName:       "Talos",
		Description:       "Talos Linux machines and clusters, from the Terraform provider siderolabs/talos.",
		License:           "MPL-2.0",
		Repository:        "https://github.com/pulumiverse/pulumi-talos",
		PluginDownloadURL: "github://api.github.com/pulumiverse",
		Version:           version,
		MetadataInfo:      tfbridge.NewProviderMetadata(metadata),
		Resources:         resources(),
		DataSources:       dataSources(),
	}
	info.SetAutonaming(255, "-")
	return info
}
