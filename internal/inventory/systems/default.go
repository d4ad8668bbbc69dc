package systems

import (
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// The size of a system that names none.
const (
	defaultCores     = 1
	defaultMemoryMiB = 1024
	defaultDiskGiB   = 8
)

// complete sets defaults that depend on other values. Constant defaults are in the tags of the types.
func (f *File) complete() {
	for at := range f.Images {
		image := &f.Images[at]
		image.Host = or(image.Host, f.Proxmox.Host)
		image.DiskStorage = or(image.DiskStorage, f.Proxmox.DiskStorage)
	}
	for at := range f.VirtualMachines {
		machine := &f.VirtualMachines[at]
		f.completeSystem(&machine.System)
		if machine.IsAppliance() {
			machine.Ejected = new(machine.Ejected != nil && *machine.Ejected)
		} else {
			f.completeDNS(&machine.System)
		}
		machine.CPUType = or(machine.CPUType, hardware.CPUType)
		for d := range machine.DataDisks {
			machine.DataDisks[d].Storage = or(machine.DataDisks[d].Storage, machine.DiskStorage)
		}
	}
	for at := range f.Containers {
		f.completeSystem(&f.Containers[at].System)
		f.completeDNS(&f.Containers[at].System)
	}
}

func (f *File) completeSystem(s *System) {
	s.Host = or(s.Host, f.Proxmox.Host)
	s.DiskStorage = or(s.DiskStorage, f.Proxmox.DiskStorage)
	s.Pool = or(s.Pool, f.Proxmox.Pool)
	if s.Snapshots == nil && f.Snapshots != nil {
		s.Snapshots = new(*f.Snapshots)
	}
	for at := range s.NICs {
		f.completeNIC(s.VMID, at, &s.NICs[at])
	}
}

func (f *File) completeDNS(s *System) {
	s.SearchDomain = or(s.SearchDomain, f.Network.SearchDomain)
	if len(s.Nameservers) == 0 {
		s.Nameservers = slices.Clone(f.Network.Nameservers)
	}
}

func (f *File) completeNIC(vmid, at int, card *NIC) {
	if card.Bridge == "" {
		card.Bridge = f.Network.Bridge
		card.VLAN = or(card.VLAN, f.Network.VLAN)
	}
	gateway := f.Network.Gateway
	if at == 0 && !card.Gateway.IsValid() && card.Address.IsStatic() && gateway != card.Address.Addr() && card.Address.Contains(gateway) {
		card.Gateway = gateway
	}
	if f.Name != "" && vmid != 0 {
		card.MAC = or(card.MAC, inventory.DerivedMAC(f.Name, vmid, at))
	}
}

// or returns the first value that is not zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// TagsOf returns the tags of a system with those of all, in their order: Proxmox VE sorts them.
func (f *File) TagsOf(s System) []string {
	tags := slices.Concat(f.Proxmox.Tags, s.Tags)
	slices.Sort(tags)
	return slices.Compact(tags)
}

// KeysOf returns the SSH keys of a system: those of all, then its own.
func (f *File) KeysOf(s System) []string { return slices.Concat(f.SSHKeys, s.SSHKeys) }

// Pools returns the resource pools of the systems, each once, in the order of first mention.
func (f *File) Pools() []string {
	return f.each(func(s System) string { return s.Pool })
}

// each returns what the systems name, each once, in the order of first mention; nothing for "".
func (f *File) each(named func(System) string) []string {
	var names []string
	for _, s := range f.Systems() {
		if name := named(s); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Systems returns what all systems have in common, virtual machines first.
func (f *File) Systems() []System {
	var all []System
	for _, machine := range f.VirtualMachines {
		all = append(all, machine.System)
	}
	for _, container := range f.Containers {
		all = append(all, container.System)
	}
	return all
}

// ImageNamed returns the image of that name.
func (f *File) ImageNamed(name string) (Image, bool) {
	at := slices.IndexFunc(f.Images, func(i Image) bool { return i.Name == name })
	if at < 0 {
		return Image{}, false
	}
	return f.Images[at], true
}

// TemplateHosts returns the hosts of the containers that are made from a template, each once.
func (f *File) TemplateHosts(template string) []string {
	var hosts []string
	for _, container := range f.Containers {
		if container.Template == template && !slices.Contains(hosts, container.Host) {
			hosts = append(hosts, container.Host)
		}
	}
	return hosts
}

// ISOHosts returns the hosts of the machines that have an ISO in their drives, each once.
func (f *File) ISOHosts(iso string) []string {
	var hosts []string
	for _, machine := range f.VirtualMachines {
		if machine.Disc() == iso && !slices.Contains(hosts, machine.Host) {
			hosts = append(hosts, machine.Host)
		}
	}
	return hosts
}

// IsAppliance reports whether a machine is installed from an ISO.
func (m VirtualMachine) IsAppliance() bool { return m.ISO != "" && m.Image == "" }

// Disc returns the name of the ISO in the drive of a machine; "" for an empty drive.
func (m VirtualMachine) Disc() string {
	if !m.IsAppliance() || m.Ejected != nil && *m.Ejected {
		return ""
	}
	return m.ISO
}

// KeptSnapshots returns how many snapshots from before changes stay; 0 if none are taken.
func (s System) KeptSnapshots() int {
	if s.Snapshots == nil {
		return 0
	}
	return s.Snapshots.Keep
}

// Addresses returns the static addresses of a system.
func (s System) Addresses() []netip.Addr {
	var addresses []netip.Addr
	for _, card := range s.NICs {
		if card.Address.IsStatic() {
			addresses = append(addresses, card.Address.Addr())
		}
	}
	return addresses
}
