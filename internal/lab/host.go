package lab

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// The minimum size of an emulated host. It is larger if the inventory needs more.
const (
	leastCores     = 16
	leastMemoryMiB = 64 << 10
	cpuModel       = "AMD EPYC 4244P 6-Core Processor" // the CPU of a small server; nothing depends on it
)

// hosts returns the Proxmox VE nodes that an inventory describes, with room for everything that it places on them.
func hosts(inv *inventory.Inventory) []proxmox.Host {
	names := inv.Nodes.Hosts()
	if !slices.Contains(names, inv.Cluster.Proxmox.Host) {
		names = append([]string{inv.Cluster.Proxmox.Host}, names...)
	}
	shared := sharedStorages(inv)
	described := make([]proxmox.Host, 0, len(names))
	for _, name := range names {
		h := host(name, inv.Cluster, inv.Nodes.OnHost(name))
		h.Storages = append(localStorages(inv, name, shared), shared...)
		described = append(described, h)
	}
	return described
}

func host(name string, c inventory.Cluster, nodes inventory.Nodes) proxmox.Host {
	h := proxmox.Host{Name: name, Cores: leastCores, CPUModel: cpuModel, MemoryMiB: leastMemoryMiB}
	var memoryMiB int
	bridges := []string{c.Network.Bridge}
	for _, node := range nodes {
		memoryMiB += node.MemoryMiB
		for _, nic := range node.NICs {
			bridges = append(bridges, nic.Bridge)
		}
	}
	// A quarter more than needed: a host is never quite full.
	h.MemoryMiB = max(h.MemoryMiB, memoryMiB+memoryMiB/4)
	h.PCI = pciDevices(nodes)
	for _, bridge := range distinct(bridges) {
		h.Bridges = append(h.Bridges, proxmox.Bridge{Name: bridge, Ports: []string{"eno1"}, VLANAware: true})
	}
	return h
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
