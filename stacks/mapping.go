package stacks

import (
	"net"
	"slices"
	"time"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
)

// This file is the only place that knows both the inventory and the components.

func templateArgs(inv *inventory.Inventory, s settings, host string) *components.TalosTemplateArgs {
	c := inv.Cluster
	return &components.TalosTemplateArgs{
		API:            s.api(),
		Host:           host,
		Shared:         c.Proxmox.Template.Shared,
		SCSIController: components.SCSIController(c.Proxmox.SCSIController),
		VMID:           c.TemplateVMID(host),
		Name:           c.TemplateName(),
		TalosVersion:   c.Talos.Version.String(),
		Schematic:      schematic(c),
		ImageFactory:   s.imageFactory,
		ISOStorage:     c.Proxmox.ISOStorage,
		DiskStorage:    c.Proxmox.DiskStorage,
		Bridge:         c.Network.Bridge,
		TPM:            c.Proxmox.Template.TPM,
		Tags:           tags(c.Proxmox.Tags),
	}
}

func (s settings) api() components.ProxmoxAPI {
	return components.ProxmoxAPI{Endpoint: s.proxmoxEndpoint, Token: s.proxmoxToken, Insecure: s.proxmoxInsecure}
}

func clusterArgs(inv *inventory.Inventory) *components.TalosClusterArgs {
	c := inv.Cluster
	args := &components.TalosClusterArgs{
		ClusterName:                    c.Name,
		Endpoint:                       c.EndpointURL(),
		VIP:                            c.Kubernetes.Endpoint.VIP,
		Contract:                       c.Talos.Contract.String(),
		KubernetesVersion:              c.Kubernetes.Version.String(),
		PodSubnets:                     c.Kubernetes.PodSubnets,
		ServiceSubnets:                 c.Kubernetes.ServiceSubnets,
		CNI:                            components.CNI(c.Kubernetes.CNI),
		KubeProxyReplacement:           c.Addons.Cilium != nil && c.Addons.Cilium.KubeProxyReplacement,
		SnapshotNamespace:              snapshotNamespace(c.Addons),
		KubeletServingCertificates:     c.Addons.KubeletServingCertApprover != nil,
		AllowSchedulingOnControlPlanes: c.Kubernetes.AllowSchedulingOnControlPlanes,
		Network:                        nodeNetwork(c.Network),
		MaxUnavailable:                 c.Upgrade.MaxUnavailable.Of(len(inv.Nodes.Workers())),
		Canary:                         c.Upgrade.Canary,
		CanaryPause:                    time.Duration(c.Upgrade.PauseSeconds) * time.Second,
		MinReady:                       c.Upgrade.MinReady(),
		Patches:                        patches(c.Talos.Patches),
	}
	for _, node := range inv.Nodes {
		args.Machines = append(args.Machines, machine(c, node))
	}
	return args
}

func machine(c inventory.Cluster, n inventory.Node) components.Machine {
	m := components.Machine{
		Name:        n.Name,
		Role:        role(n.Role),
		Host:        n.Host,
		VMID:        n.VMID,
		MAC:         net.HardwareAddr(n.MAC[:]),
		Addresses:   n.Prefixes(c),
		Sockets:     n.Sockets,
		Cores:       n.Cores,
		CPUType:     n.CPUType,
		MemoryMiB:   n.MemoryMiB,
		DiskGiB:     n.DiskGiB,
		DiskStorage: n.DiskStorage,
		DataDisks:   dataDisks(n.DataDisks),
		NICs:        nics(n.NICs),
		GPUs:        gpus(n),
		Driver:      driver(n),
		Tags:        tags(c.Proxmox.Tags, n.Tags),
		Labels:      n.Labels,
		Taints:      taints(n.Taints),
		Patches:     patches(n.Patches),
		OffAtBoot:   !n.OnBoot,
		Protect:     n.Protect,
	}
	if n.Startup != nil {
		m.Startup = &components.Startup{
			Order:            n.Startup.Order,
			UpDelaySeconds:   n.Startup.UpDelaySeconds,
			DownDelaySeconds: n.Startup.DownDelaySeconds,
		}
	}
	return m
}

func dataDisks(disks []inventory.DataDisk) []components.DataDisk {
	var mapped []components.DataDisk
	for _, disk := range disks {
		mapped = append(mapped, components.DataDisk{SizeGiB: disk.SizeGiB, Storage: disk.Storage, Mount: disk.Mount})
	}
	return mapped
}

func nics(given []inventory.NIC) []components.NIC {
	var mapped []components.NIC
	for _, nic := range given {
		mapped = append(mapped, components.NIC{
			MAC: net.HardwareAddr(nic.MAC[:]), Bridge: nic.Bridge, VLAN: nic.VLAN, Address: nic.Address, MTU: nic.MTU,
		})
	}
	return mapped
}

func nodeNetwork(n inventory.Network) components.NodeNetwork {
	return components.NodeNetwork{
		Subnets:     n.Subnets(),
		Gateways:    n.Gateways(),
		Nameservers: n.NameserverAddresses(),
		TimeServers: n.TimeServers,
		Addressing:  components.Addressing(n.Addressing),
		Bridge:      n.Bridge,
		VLAN:        n.VLAN,
		MTU:         n.MTU,
	}
}

func role(r inventory.Role) components.Role {
	if r == inventory.RoleControlPlane {
		return components.RoleControlPlane
	}
	return components.RoleWorker
}

// gpus returns the GPUs of a node: from mappings that the inventory names, and from mappings that are created for the devices
// that it describes.
func gpus(n inventory.Node) []components.GPU {
	var mapped []components.GPU
	for i, gpu := range n.GPUs {
		if gpu.Mapping != "" {
			mapped = append(mapped, components.GPU{Mapping: gpu.Mapping})
			continue
		}
		mapped = append(mapped, components.GPU{Mapping: n.MappingName(i), Device: &components.PCIDevice{
			BDF:         string(gpu.BDF),
			DeviceID:    string(gpu.DeviceID),
			SubsystemID: string(gpu.SubsystemID),
			IOMMUGroup:  *gpu.IOMMUGroup, // the loader requires it with the address
		}})
	}
	return mapped
}

// driver returns the driver of a node with GPUs; empty for others.
func driver(n inventory.Node) components.NVIDIADriver {
	if n.Driver == nil {
		return ""
	}
	return drivers[*n.Driver]
}

var drivers = map[inventory.Driver]components.NVIDIADriver{
	{KernelModuleType: inventory.KernelModulesOpen, Branch: inventory.DriverLTS}:               components.NVIDIAOpen,
	{KernelModuleType: inventory.KernelModulesOpen, Branch: inventory.DriverProduction}:        components.NVIDIAOpenProduction,
	{KernelModuleType: inventory.KernelModulesProprietary, Branch: inventory.DriverLTS}:        components.NVIDIAProprietary,
	{KernelModuleType: inventory.KernelModulesProprietary, Branch: inventory.DriverProduction}: components.NVIDIAProprietaryProduction,
}

// tags returns the tags in Proxmox VE's own order, sorted and without duplicates; otherwise every refresh would show a
// difference (F22).
func tags(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

func taints(taints map[string]inventory.Taint) map[string]string {
	texts := make(map[string]string, len(taints))
	for key, taint := range taints {
		texts[key] = taint.String()
	}
	return texts
}

func patches(patches []inventory.Patch) []string {
	texts := make([]string, len(patches))
	for i, patch := range patches {
		texts[i] = string(patch)
	}
	return texts
}
