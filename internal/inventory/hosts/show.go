package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Kind returns [manifest.Hosts].
func (*Inventory) Kind() manifest.Kind { return manifest.Hosts }

// Hosts returns the names of the hosts, in the order of the file.
func (i *Inventory) Hosts() []string {
	names := make([]string, len(i.File.Hosts))
	for at, host := range i.File.Hosts {
		names[at] = host.Name
	}
	return names
}

// Files returns the file with its defaults, each marked.
func (i *Inventory) Files() ([]manifest.EffectiveFile, error) {
	file, err := manifest.Effective(manifest.HostsFile, i.File, i.source)
	return []manifest.EffectiveFile{file}, err
}

func (i *Inventory) bridges() (number int) {
	for _, host := range i.File.Hosts {
		number += len(host.Network.Bridges)
	}
	return number
}

func (i *Inventory) vlans() (number int) {
	for _, host := range i.File.Hosts {
		number += len(host.Network.VLANs)
	}
	return number
}

// Summary returns the inventory in one line.
func (i *Inventory) Summary() string {
	parts := []string{manifest.Counted(len(i.File.Hosts), "host") + " (" + strings.Join(i.Hosts(), ", ") + ")"}
	for _, one := range []struct {
		number int
		noun   string
	}{
		{i.bridges(), "bridge"},
		{i.vlans(), "VLAN"},
		{len(i.File.Storages), "storage"},
		{len(i.File.Mappings), "mapping"},
		{len(i.File.USBMappings), "USB mapping"},
		{len(i.File.Pools), "pool"},
		{len(i.File.Access.Roles), "role"},
		{len(i.File.Access.Groups), "group"},
		{len(i.File.Access.Users), "user"},
		{len(i.File.MetricServers), "metric server"},
		{len(i.File.BackupJobs), "backup job"},
	} {
		if one.number > 0 {
			parts = append(parts, manifest.Counted(one.number, one.noun))
		}
	}
	return fmt.Sprintf("%s is sound: %s", cmp.Or(i.Dir, "the inventory"), strings.Join(parts, ", "))
}

// StorageOn returns the storage of a name if a host has it.
func (i *Inventory) StorageOn(name, host string) (Storage, bool) {
	at := slices.IndexFunc(i.File.Storages, func(s Storage) bool { return s.Name == name })
	if at < 0 || !slices.Contains(i.Hosts(), host) {
		return Storage{}, false
	}
	storage := i.File.Storages[at]
	return storage, len(storage.Hosts) == 0 || slices.Contains(storage.Hosts, host)
}

// HasBridge reports whether a host has a bridge of that name.
func (i *Inventory) HasBridge(name, host string) bool {
	return slices.ContainsFunc(i.File.Hosts, func(h Host) bool {
		return h.Name == host && slices.ContainsFunc(h.Network.Bridges, func(b Bridge) bool { return b.Name == name })
	})
}
