package hosts

import (
	"cmp"
	"fmt"
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
		{len(i.File.Pools), "pool"},
	} {
		if one.number > 0 {
			parts = append(parts, manifest.Counted(one.number, one.noun))
		}
	}
	return fmt.Sprintf("%s is sound: %s", cmp.Or(i.Dir, "the inventory"), strings.Join(parts, ", "))
}
