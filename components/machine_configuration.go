package components

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/client"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"

	"github.com/em-infra/em-infra/internal/machineconfig"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// machineConfiguration returns the configuration of one machine: the defaults of the contract with the cluster's secrets, then
// our patches, then the cluster's. The machine's own patches are merged last, by its node.
func (c *TalosCluster) machineConfiguration(ctx *pulumi.Context, a TalosClusterArgs, m Machine, installerImage pulumi.StringOutput) (pulumi.StringOutput, error) {
	patches, err := machineconfig.Patches(a.configCluster(), m.configNode(a.Network))
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	install := installerImage.ApplyT(machineconfig.InstallImage).(pulumi.StringOutput)
	all := append(pulumi.ToStringArray(patches), install)
	if m.Role == RoleControlPlane && machineconfig.LacksSecretbox(a.Contract) {
		all = append(all, c.secrets.MachineSecrets.Secrets().SecretboxEncryptionSecret().ApplyT(machineconfig.Secretbox).(pulumi.StringOutput))
	}
	all = append(all, pulumi.ToStringArray(a.Patches)...)

	result := machine.GetConfigurationOutput(ctx, machine.GetConfigurationOutputArgs{
		ClusterName:       pulumi.String(a.ClusterName),
		ClusterEndpoint:   pulumi.String(a.Endpoint.String()),
		MachineType:       pulumi.String(m.machineType()),
		MachineSecrets:    c.secrets.MachineSecrets,
		TalosVersion:      pulumi.String(a.Contract),
		KubernetesVersion: pulumi.String(a.KubernetesVersion),
		ConfigPatches:     all,
		Docs:              pulumi.Bool(false),
		Examples:          pulumi.Bool(false),
	}, pulumi.Parent(c))
	return pulumi.ToSecret(result.MachineConfiguration()).(pulumi.StringOutput), nil
}

// talosconfigFor returns a talosconfig that reaches nodes through endpoints.
func (c *TalosCluster) talosconfigFor(ctx *pulumi.Context, a TalosClusterArgs, endpoints, nodes []string) pulumi.StringOutput {
	credentials := c.secrets.ClientConfiguration
	result := client.GetConfigurationOutput(ctx, client.GetConfigurationOutputArgs{
		ClusterName: pulumi.String(a.ClusterName),
		ClientConfiguration: client.GetConfigurationClientConfigurationArgs{
			CaCertificate:     credentials.CaCertificate(),
			ClientCertificate: credentials.ClientCertificate(),
			ClientKey:         credentials.ClientKey(),
		},
		Endpoints: pulumi.ToStringArray(endpoints),
		Nodes:     pulumi.ToStringArray(nodes),
	}, pulumi.Parent(c))
	return pulumi.ToSecret(result.TalosConfig()).(pulumi.StringOutput)
}

func (args TalosClusterArgs) configCluster() machineconfig.Cluster {
	return machineconfig.Cluster{
		Contract:                       args.Contract,
		NodeSubnets:                    args.Network.Subnets,
		VIP:                            args.VIP,
		PodSubnets:                     args.PodSubnets,
		ServiceSubnets:                 args.ServiceSubnets,
		CNI:                            args.CNI,
		KubeProxyReplacement:           args.KubeProxyReplacement,
		KubeletServingCertificates:     args.KubeletServingCertificates,
		SnapshotNamespace:              args.SnapshotNamespace,
		AllowSchedulingOnControlPlanes: args.AllowSchedulingOnControlPlanes,
		Nameservers:                    args.Network.Nameservers,
		TimeServers:                    args.Network.TimeServers,
	}
}

func (m Machine) configNode(n NodeNetwork) machineconfig.Node {
	var (
		nics  []machineconfig.NIC
		disks []machineconfig.DataDisk
	)
	for _, nic := range m.NICs {
		nics = append(nics, machineconfig.NIC{MAC: nic.MAC, Address: nic.Address, MTU: nic.MTU})
	}
	for i, disk := range m.DataDisks {
		disks = append(disks, machineconfig.DataDisk{Mount: disk.Mount, Drive: hardware.DataDisk(i)})
	}
	return machineconfig.Node{
		Name:         m.Name,
		ControlPlane: m.Role == RoleControlPlane,
		MAC:          m.MAC,
		Addresses:    m.Addresses,
		Gateways:     n.Gateways,
		MTU:          n.MTU,
		NICs:         nics,
		DataDisks:    disks,
	}
}

// machineType returns Talos' name for the role.
func (m Machine) machineType() string {
	if m.Role == RoleControlPlane {
		return "controlplane"
	}
	return "worker"
}
