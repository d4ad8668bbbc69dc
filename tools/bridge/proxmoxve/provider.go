// Package proxmoxve describes the Pulumi provider proxmoxve to the Terraform bridge. It uses the tokens of
// github.com/muhlba91/pulumi-proxmoxve/sdk/v6, so that programs written with that SDK run on it.
package proxmoxve

import (
	"context"
	_ "embed" // The generated files are part of the plugin.

	"github.com/bpg/terraform-provider-proxmox/fwprovider"
	"github.com/bpg/terraform-provider-proxmox/proxmoxtf/provider"
	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"

	"github.com/em-infra/em-infra/tools/bridge/packageschema"
)

// Name is the package name in every token, and NAME in the binary pulumi-resource-NAME.
const Name = "proxmoxve"

// prefix starts every type name of the Terraform provider.
const prefix = "proxmox_virtual_environment_"

//go:embed schema.json
var schema []byte

//go:embed bridge-metadata.json
var metadata []byte

// Schema returns the Pulumi package schema of a version, in JSON.
func Schema(version string) ([]byte, error) { return packageschema.WithVersion(schema, version) }

// Provider joins the two halves of the Terraform provider (plugin SDK and plugin framework) and maps their types
// to tokens. The version is a semantic version without a leading v.
func Provider(version string) tfbridge.ProviderInfo {
	infos := resources()
	info := tfbridge.ProviderInfo{
		P: pf.MuxShimWithPF(context.Background(),
			shimv2.NewProvider(likeOfficial(provider.ProxmoxVirtualEnvironment(), infos)), fwprovider.New(version)()),
		Name:              "proxmox",
		GitHubOrg:         "bpg",
		DisplayName:       "Proxmox Virtual Environment (Proxmox VE)",
		Description:       "Proxmox VE, from the Terraform provider bpg/proxmox.",
		License:           "Apache-2.0",
		Repository:        "https://github.com/muhlba91/pulumi-proxmoxve",
		PluginDownloadURL: "github://api.github.com/muhlba91/pulumi-proxmoxve",
		Version:           version,
		MetadataInfo:      tfbridge.NewProviderMetadata(metadata),
		Resources:         infos,
		DataSources:       dataSources(),
		IgnoreMappings: []string{
			prefix + "container",      // a data source since bpg v0.71; the resource of that name is mapped
			prefix + "metrics_server", // newer than the SDK
		},
	}
	info.SetAutonaming(255, "-")
	return info
}
