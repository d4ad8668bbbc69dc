package lab

import (
	"slices"

	hostinventory "github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// hosts returns the hosts of all stacks, those of the clusters first.
func (s Stacks) hosts() []proxmox.Host {
	var all []proxmox.Host
	for _, inv := range s.Platforms {
		all = withRoomFor(all, hosts(inv))
	}
	for _, inv := range s.Systems {
		all = withRoomFor(all, hostsOfSystems(inv))
	}
	for _, inv := range s.Hosts {
		for _, installed := range installedHosts(inv) {
			at := slices.IndexFunc(all, func(h proxmox.Host) bool { return h.Name == installed.Name })
			if at < 0 {
				all = append(all, installed)
				continue
			}
			all[at] = before(inv, installed, all[at])
		}
	}
	return withOneTypeEach(all, func(host string) bool {
		return slices.ContainsFunc(s.Hosts, func(inv *hostinventory.Inventory) bool { return slices.Contains(inv.Hosts(), host) })
	})
}

// withOneTypeEach gives storages of the same name on several hosts the same type, because a storage has one definition in the whole Proxmox VE.
// The type is that of a storage that hosts share or that holds files, since other types can do neither, or else that of an installed host.
func withOneTypeEach(hosts []proxmox.Host, isInstalled func(host string) bool) []proxmox.Host {
	ranks := map[string]int{}
	models := map[string]proxmox.Storage{}
	for _, h := range hosts {
		for _, one := range h.Storages {
			rank := 1
			switch {
			case one.Shared:
				rank = 4
			case one.Type.FileBased():
				rank = 3
			case isInstalled(h.Name):
				rank = 2
			}
			if rank > ranks[one.Name] {
				ranks[one.Name], models[one.Name] = rank, one
			}
		}
	}
	for i := range hosts {
		hosts[i].Storages = slices.Clone(hosts[i].Storages)
		for at, one := range hosts[i].Storages {
			model := models[one.Name]
			hosts[i].Storages[at].Type, hosts[i].Storages[at].Shared, hosts[i].Storages[at].Path = model.Type, model.Shared, model.Path
		}
	}
	return hosts
}

// withRoomFor returns hosts with the additions of another description, and with room for what both place on them.
func withRoomFor(hosts, more []proxmox.Host) []proxmox.Host {
	grown := hardware.Grown(hosts, more)
	for i, h := range grown {
		memoryMiB, bytes := 0, map[string]uint64{}
		for _, one := range slices.Concat(hosts, more) {
			if one.Name != h.Name {
				continue
			}
			memoryMiB += one.MemoryMiB
			for _, storage := range one.Storages {
				bytes[storage.Name] += storage.TotalBytes
			}
		}
		grown[i].MemoryMiB, grown[i].Storages = memoryMiB, slices.Clone(h.Storages)
		for at, storage := range h.Storages {
			grown[i].Storages[at].TotalBytes = bytes[storage.Name]
		}
	}
	return grown
}

// before returns a host as it is before the stack of hosts runs: as installed, with what the other stacks need of it and the stack of hosts
// does not describe.
func before(inv *hostinventory.Inventory, installed, needed proxmox.Host) proxmox.Host {
	needed.Storages = slices.DeleteFunc(slices.Clone(needed.Storages), func(s proxmox.Storage) bool {
		_, described := inv.StorageOn(s.Name, needed.Name)
		return described
	})
	bridges := needed.Bridges
	needed.Bridges = slices.DeleteFunc(slices.Clone(bridges), func(b proxmox.Bridge) bool { return inv.HasBridge(b.Name, needed.Name) })
	for i, bridge := range installed.Bridges {
		at := slices.IndexFunc(bridges, func(b proxmox.Bridge) bool { return b.Name == bridge.Name })
		installed.Bridges[i].VLANAware = at >= 0 && bridges[at].VLANAware && !inv.HasBridge(bridge.Name, needed.Name)
	}
	needed.PCI = slices.DeleteFunc(slices.Clone(needed.PCI), func(d proxmox.PCIDevice) bool {
		return slices.ContainsFunc(inv.File.Mappings, func(m hostinventory.Mapping) bool { return m.Name == d.Mapping })
	})
	return hardware.Grown([]proxmox.Host{installed}, []proxmox.Host{needed})[0]
}
