package newstack

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// small are the sizes for hosts that the defaults are too large for: what Talos recommends for a node (docs.siderolabs.com, system
// requirements), and a GPU worker that can still hold a model in memory.
var small = inventory.Defaults{
	ControlPlane: inventory.Size{Cores: 2, MemoryMiB: 4096, DiskGiB: 32},
	Worker:       inventory.Size{Cores: 2, MemoryMiB: 4096, DiskGiB: 64},
	GPUWorker:    inventory.Size{Cores: 4, MemoryMiB: 16384, DiskGiB: 128},
}

// chooseSizes chooses the defaults of an inventory, or smaller sizes if they do not fit.
func (p *proposal) chooseSizes() {
	p.Sizes = p.Defaults.Defaults
	if len(p.Hosts) == 0 || p.DiskStorage == "" || len(p.lacks()) == 0 {
		return
	}
	p.Sizes = small
	p.problems = append(p.problems, p.lacks()...)
}

// lacks returns what the hosts do not have for the nodes with their sizes.
func (p *proposal) lacks() []error {
	lacking := &proposal{}
	disksGiB := map[string]int{}
	for _, host := range p.Hosts {
		capacity := p.site.Found.Hosts[host].Capacity.Value
		memoryMiB := 0
		for _, node := range p.Nodes {
			if node.Host != host {
				continue
			}
			size := p.sizeOf(node.Role)
			memoryMiB += size.MemoryMiB
			disksGiB[host] += size.DiskGiB
			if size.Cores > capacity.Threads {
				lacking.problem("%s needs %d cores, and host %s has %d: name other hosts with --host", node.Name, size.Cores, host, capacity.Threads)
			}
		}
		if free := p.freeMiB(host); memoryMiB > free {
			lacking.problem("the nodes on %s need %d MiB of memory, and %d MiB are free: stop other machines, take fewer nodes, or name other hosts with --host", host, memoryMiB, free)
		}
	}
	p.lacksRoom(lacking, disksGiB)
	return lacking.problems
}

// lacksRoom compares the disks with the room on their storage: that of each host, or the one that all share.
func (p *proposal) lacksRoom(lacking *proposal, disksGiB map[string]int) {
	shared, needed := 0, hardware.TemplateDiskGiB
	if p.ISOStorage == p.DiskStorage {
		needed += hardware.ISOGiB
	}
	report := func(where string, needed, free int) {
		if needed > free {
			lacking.problem("the disks need %d GiB on storage %s%s, and %d GiB are free: free space, take fewer nodes, or name another storage with --disk-storage", needed, p.DiskStorage, where, free)
		}
	}
	for _, host := range p.Hosts {
		storage := p.storage(host, p.DiskStorage)
		if storage.Shared {
			shared += disksGiB[host]
			continue
		}
		report(" of "+host, disksGiB[host]+needed, int(storage.AvailableBytes>>30))
	}
	if shared > 0 {
		report("", shared+needed, p.freeGiB(p.DiskStorage))
	}
}

func (p *proposal) sizeOf(role inventory.Role) inventory.Size {
	switch role {
	case inventory.RoleControlPlane:
		return p.Sizes.ControlPlane
	case inventory.RoleGPUWorker:
		return p.Sizes.GPUWorker
	default:
		return p.Sizes.Worker
	}
}

// freeMiB returns the memory of a host that no running guest has.
func (p *proposal) freeMiB(host string) int {
	free := int(p.site.Found.Hosts[host].Capacity.Value.MemoryBytes >> 20)
	for _, guest := range p.site.Found.Guests.Value {
		if guest.Node == host && guest.Status == "running" {
			free -= int(guest.MemoryBytes >> 20)
		}
	}
	return free
}

// hasRole reports whether a node of a role is among the nodes.
func (p Plan) hasRole(role inventory.Role) bool {
	return slices.ContainsFunc(p.Nodes, func(node Node) bool { return node.Role == role })
}
