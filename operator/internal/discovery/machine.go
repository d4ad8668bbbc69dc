package discovery

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Machine is a virtual machine of Proxmox VE with its settings.
type Machine struct {
	pve.Guest

	// Config are its settings.
	Config pve.GuestConfig
	// Devices are the PCI devices of its host. Default: nil, they were not read.
	Devices []pve.PCIDevice
}

// cores and sockets have the defaults of Proxmox VE (qemu-server, QemuServer.pm, $confdesc).
func (m Machine) cores() int   { return cmp.Or(integer(m.Config["cores"]), 1) }
func (m Machine) sockets() int { return cmp.Or(integer(m.Config["sockets"]), 1) }

func (m Machine) memoryMiB() int {
	text := strings.TrimPrefix(m.Config["memory"], "current=")
	text, _, _ = strings.Cut(text, ",")
	return cmp.Or(integer(text), 512)
}

func (m Machine) cpuType() string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(m.Config["cpu"], "cputype="), ",")
	return cmp.Or(kind, "kvm64")
}

// tags returns its tags, sorted.
func (m Machine) tags() []string {
	tags := strings.FieldsFunc(m.Config["tags"], func(r rune) bool { return strings.ContainsRune(";, ", r) })
	slices.Sort(tags)
	return tags
}

// seed returns the slot of the cloud-init drive; empty without one.
func (m Machine) seed() string {
	for _, slot := range slices.Sorted(maps.Keys(m.Config)) {
		if strings.Contains(m.Config[slot], "cloudinit") && strings.Contains(m.Config[slot], "media=cdrom") {
			return slot
		}
	}
	return ""
}

// addressing returns how the machine got its first address, in the words of an inventory.
func (m Machine) addressing() string {
	if m.seed() == "" {
		return string(inventory.AddressingDHCP)
	}
	return string(inventory.AddressingNoCloud)
}

// unlike returns a text for each part of the hardware that differs from that of all machines of em-infra. No inventory can describe it; it would be
// changed with a reboot, or by a replacement of the machine.
func (m Machine) unlike() []string {
	var found []string
	for _, fact := range []struct{ name, has, wants string }{
		{"bios", cmp.Or(m.Config["bios"], "seabios"), "ovmf"},
		{"machine", strings.SplitN(cmp.Or(m.Config["machine"], "i440fx"), ",", 2)[0], "q35"},
	} {
		if !strings.HasPrefix(strings.TrimPrefix(fact.has, "pc-"), fact.wants) {
			found = append(found, fact.name+" is "+fact.has+" and not "+fact.wants)
		}
	}
	if m.Config[hardware.SystemDrive] == "" {
		found = append(found, "the system disk is not "+hardware.SystemDrive)
	}
	return found
}

func integer(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return value
}
