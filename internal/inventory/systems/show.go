package systems

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// Kind returns [manifest.Systems].
func (*Inventory) Kind() manifest.Kind { return manifest.Systems }

// Hosts returns the Proxmox VE nodes of the systems and images, each once, in the order of first mention.
func (i *Inventory) Hosts() []string {
	hosts := i.File.each(func(s System) string { return s.Host })
	for _, image := range i.File.Images {
		if !slices.Contains(hosts, image.Host) {
			hosts = append(hosts, image.Host)
		}
	}
	return hosts
}

// FindVMID returns the VMID of a system that is named by its name or by its VMID, which need not belong to one.
func (i *Inventory) FindVMID(guest string) (int, error) {
	all := i.File.Systems()
	return inventory.FindVMID(guest, "system", i.GuestNames(), func(at int) int { return all[at].VMID })
}

// GuestNames returns the names of the systems, in the order of the inventory.
func (i *Inventory) GuestNames() []string {
	all := i.File.Systems()
	names := make([]string, len(all))
	for at, s := range all {
		names[at] = s.Name
	}
	return names
}

// Files returns the file with its defaults, each marked.
func (i *Inventory) Files() ([]manifest.EffectiveFile, error) {
	file, err := manifest.Effective(manifest.SystemsFile, i.File, i.source)
	return []manifest.EffectiveFile{file}, err
}

// Summary returns the inventory in one line.
func (i *Inventory) Summary() string {
	var parts []string
	for _, one := range []struct {
		number int
		noun   string
	}{
		{len(i.File.VirtualMachines), "virtual machine"},
		{len(i.File.Containers), "container"},
		{len(i.File.Images), "image"},
		{len(i.File.ISOs), "ISO"},
		{len(i.File.ContainerTemplates), "container template"},
	} {
		if one.number > 0 {
			parts = append(parts, manifest.Counted(one.number, one.noun))
		}
	}
	return fmt.Sprintf("%s is sound: %s on %s", cmp.Or(i.Dir, "the inventory"), strings.Join(parts, ", "), strings.Join(i.Hosts(), ", "))
}
