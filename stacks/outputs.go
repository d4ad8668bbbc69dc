package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
)

// OutputContractVersion changes when an output changes its name or meaning.
const OutputContractVersion = "1"

// Names of the stack's outputs. They are a contract.
const (
	// OutputContract is the version of this contract.
	OutputContract = "outputContractVersion"
	// OutputClusterName is the cluster's name.
	OutputClusterName = "talosClusterName"
	// OutputControlPlaneEndpoints are the addresses of the control planes' Talos API.
	OutputControlPlaneEndpoints = "talosControlPlaneEndpoints"
	// OutputNodeAddresses maps a node's name to its address.
	OutputNodeAddresses = "talosNodeAddresses"
	// OutputVMIDs maps a node's name to its VMID.
	OutputVMIDs = "talosVmIds"
	// OutputKubernetesEndpoint is the URL of the Kubernetes API.
	OutputKubernetesEndpoint = "kubernetesEndpoint"
	// OutputTalosconfig is the talosconfig of the administrator. Secret.
	OutputTalosconfig = "talosconfig"
	// OutputPlugins maps a plugin's name to the build of it that wrote the state. Not exported unless an embedding names the
	// builds, so not under plain pulumi.
	OutputPlugins = "plugins"
	// OutputKubeconfig is the kubeconfig of the administrator. Secret.
	OutputKubeconfig = "kubeconfig"
)

// export exports the outputs that exist: before the bootstrap phase there is no kubeconfig.
func export(ctx *pulumi.Context, inv *inventory.Inventory, cluster *components.TalosCluster, options Options) {
	addresses, vmids, endpoints := pulumi.StringMap{}, pulumi.IntMap{}, pulumi.StringArray{}
	for _, node := range inv.Nodes {
		addresses[node.Name] = pulumi.String(node.Address.String())
		vmids[node.Name] = pulumi.Int(node.VMID)
	}
	for _, node := range inv.Nodes.ControlPlanes() {
		endpoints = append(endpoints, pulumi.String(node.Address.String()))
	}
	ctx.Export(OutputContract, pulumi.String(OutputContractVersion))
	ctx.Export(OutputClusterName, pulumi.String(inv.Cluster.Name))
	ctx.Export(OutputControlPlaneEndpoints, endpoints)
	ctx.Export(OutputNodeAddresses, addresses)
	ctx.Export(OutputVMIDs, vmids)
	ctx.Export(OutputKubernetesEndpoint, pulumi.String(inv.Cluster.EndpointURL().String()))
	ctx.Export(OutputTalosconfig, cluster.Talosconfig)
	if len(options.Plugins) > 0 {
		ctx.Export(OutputPlugins, pulumi.ToStringMap(options.Plugins))
	}
	if options.Until.Reaches(components.PhaseBootstrap) {
		ctx.Export(OutputKubeconfig, cluster.Kubeconfig)
	}
}
