package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Names of the outputs of a stack that configures hosts, beside [OutputContract] and [OutputPlugins]. They are a contract.
const (
	// OutputHosts are the names of the hosts.
	OutputHosts = "proxmoxHosts"
	// OutputPools are the names of the resource pools.
	OutputPools = "proxmoxPools"
	// OutputStorages are the names of the storages.
	OutputStorages = "proxmoxStorages"
	// OutputTokens maps USER@REALM!NAME to USER@REALM!NAME=SECRET. Secret. Not exported without tokens.
	OutputTokens = "proxmoxTokens"
)

// hostsProgram configures hosts: inventory, providers, the component, outputs.
func hostsProgram(ctx *pulumi.Context, settings settings, options Options) error {
	inv, err := hosts.Load(workspace.Nearby(settings.inventory))
	if err != nil {
		return err
	}
	providers, err := newHostProviders(ctx, settings, inv.File.Protect)
	if err != nil {
		return err
	}
	shared := pulumi.Composite(providers, pulumi.Protect(inv.File.Protect))
	args := proxmoxHostArgs(inv, settings)
	if err := addSecrets(ctx, inv, args, options); err != nil {
		return err
	}
	configured, err := components.NewProxmoxHost(ctx, inv.File.Name, args, shared)
	if err != nil {
		return err
	}
	exportHosts(ctx, inv, configured, options)
	return nil
}

// HostNetworkName returns the logical name of the resource that makes the network of a host, for code that reads a state.
func HostNetworkName(inv *hosts.Inventory, host string) string {
	return components.HostNetworkName(inv.File.Name, host)
}

// HostNetworks returns the networks that an inventory wants, as the operations on hosts read them.
func HostNetworks(inv *hosts.Inventory) []hostspec.Network {
	var wanted []hostspec.Network
	for _, network := range proxmoxHostArgs(inv, settings{}).Networks {
		wanted = append(wanted, network.Spec(inv.File.Name))
	}
	return wanted
}

// proxmoxHostArgs returns the arguments of the component for the inventory, without secrets.
func proxmoxHostArgs(inv *hosts.Inventory, s settings) *components.ProxmoxHostArgs {
	args := &components.ProxmoxHostArgs{API: s.api(), Hosts: inv.Hosts()}
	for _, pool := range inv.File.Pools {
		args.Pools = append(args.Pools, pool.Name)
	}
	args.Storages, args.Mappings, args.Access = hostStorages(inv), hostMappings(inv), hostAccess(inv.File.Access)
	args.Tokens, args.USBMappings = hostTokens(inv), hostUSBMappings(inv)
	args.Options, args.MetricServers, args.BackupJobs = hostOptions(inv.File.Options), hostMetricServers(inv), hostBackupJobs(inv)
	for _, host := range inv.File.Hosts {
		if interfaces := hostInterfaces(host.Network); len(interfaces) > 0 {
			args.Networks = append(args.Networks, components.HostNetwork{Host: host.Name, Interfaces: interfaces})
		}
		if dns := host.DNS; dns != nil {
			args.DNS = append(args.DNS, components.HostDNS{Host: host.Name, SearchDomain: dns.SearchDomain, Servers: dns.Servers})
		}
		if settings := hostSettings(host); !settings.Spec().IsEmpty() {
			args.Settings = append(args.Settings, settings)
		}
	}
	return args
}

func hostMappings(inv *hosts.Inventory) []components.HostMapping {
	var mappings []components.HostMapping
	for _, m := range inv.File.Mappings {
		one := components.HostMapping{Name: m.Name, Comment: m.Comment}
		for _, d := range m.Devices {
			one.Devices = append(one.Devices, components.HostDevice{Host: d.Host, Device: components.PCIDevice{
				BDF: string(d.BDF), DeviceID: string(d.DeviceID), SubsystemID: string(d.SubsystemID), IOMMUGroup: d.IOMMUGroup,
			}})
		}
		mappings = append(mappings, one)
	}
	return mappings
}

func hostUSBMappings(inv *hosts.Inventory) []components.HostUSBMapping {
	var mappings []components.HostUSBMapping
	for _, m := range inv.File.USBMappings {
		one := components.HostUSBMapping{Name: m.Name, Comment: m.Comment}
		for _, d := range m.Devices {
			one.Devices = append(one.Devices, components.HostUSBDevice(d))
		}
		mappings = append(mappings, one)
	}
	return mappings
}

// hostInterfaces returns the bridges, then the VLANs, which may be on them.
func hostInterfaces(network hosts.Network) []components.HostInterface {
	var interfaces []components.HostInterface
	for _, bridge := range network.Bridges {
		one := hostInterface(bridge.Name, bridge.Addressed)
		one.Ports, one.VLANAware = bridge.Ports, bridge.VLANAware
		interfaces = append(interfaces, one)
	}
	for _, vlan := range network.VLANs {
		one := hostInterface(vlan.Name, vlan.Addressed)
		one.Device, one.Tag = vlan.Device, vlan.Tag
		interfaces = append(interfaces, one)
	}
	return interfaces
}

func hostInterface(name string, on hosts.Addressed) components.HostInterface {
	return components.HostInterface{
		Name: name, Address: on.Address, Address6: on.Address6, Gateway: on.Gateway, Gateway6: on.Gateway6, MTU: on.MTU, Comment: on.Comment,
	}
}

func exportHosts(ctx *pulumi.Context, inv *hosts.Inventory, configured *components.ProxmoxHost, options Options) {
	pools := make([]string, len(inv.File.Pools))
	for i, pool := range inv.File.Pools {
		pools[i] = pool.Name
	}
	storages := make([]string, len(inv.File.Storages))
	for i, storage := range inv.File.Storages {
		storages[i] = storage.Name
	}
	ctx.Export(OutputContract, pulumi.String(OutputContractVersion))
	ctx.Export(OutputHosts, pulumi.ToStringArray(inv.Hosts()))
	ctx.Export(OutputPools, pulumi.ToStringArray(pools))
	ctx.Export(OutputStorages, pulumi.ToStringArray(storages))
	if tokens := configured.Tokens; len(tokens) > 0 {
		secrets := pulumi.StringMap{}
		for id, token := range tokens {
			secrets[id] = token
		}
		ctx.Export(OutputTokens, secrets)
	}
	if len(options.Plugins) > 0 {
		ctx.Export(OutputPlugins, pulumi.ToStringMap(options.Plugins))
	}
}
