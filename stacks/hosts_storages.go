package stacks

import (
	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostStorageName returns the logical name of the resource that defines a storage, for code that reads a state.
func HostStorageName(inv *hosts.Inventory, storage string) string {
	return components.HostStorageName(inv.File.Name, storage)
}

// HostStorages returns the storages that an inventory wants, as the operations on hosts read them.
func HostStorages(inv *hosts.Inventory) []hostspec.Storage {
	var wanted []hostspec.Storage
	for _, storage := range hostStorages(inv) {
		wanted = append(wanted, storage.Spec())
	}
	return wanted
}

// hostStorages maps the storages, without passwords.
func hostStorages(inv *hosts.Inventory) []components.HostStorage {
	var storages []components.HostStorage
	for _, s := range inv.File.Storages {
		one := components.HostStorage{
			Name: s.Name, Type: string(s.Type), Hosts: s.Hosts, Path: s.Path, Shared: s.Shared, Server: s.Server, Export: s.Export,
			Share: s.Share, Datastore: s.Datastore, Options: s.Options, Username: s.Username, Domain: s.Domain, Namespace: s.Namespace,
			Fingerprint: s.Fingerprint, VolumeGroup: s.VolumeGroup, ThinPool: s.ThinPool, ZFSPool: s.ZFSPool, Sparse: s.Sparse,
		}
		for _, content := range s.Content {
			one.Content = append(one.Content, string(content))
		}
		storages = append(storages, one)
	}
	return storages
}
