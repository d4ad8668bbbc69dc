package lab

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// The least that an emulated host has; one that the inventory asks more of has more.
const (
	leastCores      = 16
	leastMemoryMiB  = 64 << 10
	leastStorageGiB = 1 << 10
	cpuModel        = "AMD EPYC 4244P 6-Core Processor" // a small server's; nothing depends on it
)

// hosts are the Proxmox VE nodes that an inventory describes, with room for all that it puts on them.
func hosts(inv *inventory.Inventory) []proxmox.Host {
	names := inv.Nodes.Hosts()
	if !slices.Contains(names, inv.Cluster.Proxmox.Host) {
		names = append([]string{inv.Cluster.Proxmox.Host}, names...)
	}
	described := make([]proxmox.Host, 0, len(names))
	for _, name := range names {
		described = append(described, host(name, inv.Cluster, inv.Nodes.OnHost(name)))
	}
	return described
}

func host(name string, c inventory.Cluster, nodes inventory.Nodes) proxmox.Host {
	h := proxmox.Host{Name: name, Cores: leastCores, CPUModel: cpuModel, MemoryMiB: leastMemoryMiB}
	var memoryMiB, diskGiB int
	storages, bridges := []string{c.Proxmox.DiskStorage}, []string{c.Network.Bridge}
	for _, node := range nodes {
		memoryMiB += node.MemoryMiB
		diskGiB += node.DiskGiB
		storages = append(storages, node.DiskStorage)
		for _, disk := range node.DataDisks {
			diskGiB += disk.SizeGiB
			storages = append(storages, disk.Storage)
		}
		for _, nic := range node.Networks {
			bridges = append(bridges, nic.Bridge)
		}
	}
	// A quarter more than what is asked for: a host is never quite full.
	h.MemoryMiB = max(h.MemoryMiB, memoryMiB+memoryMiB/4)
	h.Storages = hostStorages(c.Proxmox.ISOStorage, distinct(storages), max(leastStorageGiB, diskGiB+diskGiB/4))
	h.PCI = pciDevices(nodes)
	for _, bridge := range distinct(bridges) {
		h.Bridges = append(h.Bridges, proxmox.Bridge{Name: bridge, Ports: []string{"eno1"}, VLANAware: true})
	}
	return h
}

// hostStorages are a folder for the ISO, as every Proxmox VE host has one, and ZFS pools for the disks; a storage that
// serves both is a folder.
func hostStorages(iso string, disks []string, sizeGiB int) []proxmox.Storage {
	size := uint64(sizeGiB) << 30
	folder := proxmox.Storage{Name: iso, Type: storage.Dir, Content: []string{storage.ISO}, TotalBytes: size, Path: "/var/lib/vz"}
	var storages []proxmox.Storage
	for _, name := range disks {
		if name == iso {
			folder.Content = append(folder.Content, storage.Images)
			continue
		}
		storages = append(storages, proxmox.Storage{Name: name, Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: size})
	}
	return append([]proxmox.Storage{folder}, storages...)
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
