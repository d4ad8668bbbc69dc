package lab

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// leastStorageGiB is the minimum size of an emulated storage. It is larger if the inventory needs more.
const leastStorageGiB = 1 << 10

// folderOfHost is the storage that every Proxmox VE host has (pve-storage, PVE/Storage/Plugin.pm, parse_config).
const folderOfHost = "local"

// sharedStorages returns the storages that the inventory uses as shared ones: an NFS share for the ISO, and Ceph for the
// disks of the template and of nodes that are cloned from it to another host. A storage for both purposes is the NFS share.
func sharedStorages(inv *inventory.Inventory) []proxmox.Storage {
	c := inv.Cluster.Proxmox
	if !c.Template.Shared {
		return nil
	}
	disks := []string{c.DiskStorage}
	for _, node := range inv.Nodes {
		if node.Host != c.Host {
			disks = append(disks, node.DiskStorage)
		}
	}
	share := proxmox.Storage{
		Name: c.ISOStorage, Type: storage.NFS, Path: "/mnt/pve/" + c.ISOStorage, TotalBytes: roomFor(inv.Nodes), Shared: true,
	}
	return storages(share, storage.RBD, disks)
}

// localStorages returns a host's own storages: a folder for the ISO, and ZFS pools for the disks that are not on shared
// storage. A storage for both purposes is the folder.
func localStorages(inv *inventory.Inventory, host string, shared []proxmox.Storage) []proxmox.Storage {
	isShared := func(name string) bool {
		return slices.ContainsFunc(shared, func(s proxmox.Storage) bool { return s.Name == name })
	}
	c, nodes := inv.Cluster.Proxmox, inv.Nodes.OnHost(host)
	disks := []string{c.DiskStorage}
	for _, node := range nodes {
		disks = append(disks, node.DiskStorage)
		for _, disk := range node.DataDisks {
			disks = append(disks, disk.Storage)
		}
	}
	folder := proxmox.Storage{Name: c.ISOStorage, Type: storage.Dir, Path: "/var/lib/vz", TotalBytes: roomFor(nodes)}
	if isShared(folder.Name) {
		folder.Name = folderOfHost
	}
	return storages(folder, storage.ZFSPool, slices.DeleteFunc(disks, isShared))
}

// storages returns the folder with the ISO and the storages of the disks. The latter have the given type and otherwise the
// settings of the folder.
func storages(folder proxmox.Storage, pool storage.Type, disks []string) []proxmox.Storage {
	folder.Content = []string{storage.ISO}
	var pools []proxmox.Storage
	for _, name := range distinct(disks) {
		if name == folder.Name {
			folder.Content = append(folder.Content, storage.Images)
			continue
		}
		pools = append(pools, proxmox.Storage{
			Name: name, Type: pool, Content: []string{storage.Images}, TotalBytes: folder.TotalBytes, Shared: folder.Shared,
		})
	}
	return append([]proxmox.Storage{folder}, pools...)
}

// roomFor returns a quarter more than the size of the nodes' disks, in bytes.
func roomFor(nodes inventory.Nodes) uint64 {
	sum := 0
	for _, node := range nodes {
		sum += node.DiskGiB
		for _, disk := range node.DataDisks {
			sum += disk.SizeGiB
		}
	}
	return uint64(max(leastStorageGiB, sum+sum/4)) << 30
}
