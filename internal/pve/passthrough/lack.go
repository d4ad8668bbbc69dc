package passthrough

import (
	"fmt"
	"slices"
	"strings"
)

// Device is a function of a PCI device.
type Device struct {
	// Address is domain:bus:slot.function.
	Address string
	// ID is vendor:device in hexadecimal numbers without 0x.
	ID string
	// IsDisplay is whether it is a display controller. The drivers of these devices do not always release them.
	IsDisplay bool
	// HasGroup is whether it is in an IOMMU group.
	HasGroup bool
}

// VFIO is the driver that holds devices for machines.
const VFIO = "vfio-pci"

// Lack is what a host lacks before machines can have some of its devices.
type Lack struct {
	host      string
	facts     Facts
	devices   []Device
	wanted    []string
	ungrouped []string // addresses
	held      []string // addresses
}

// Of returns what a host lacks before machines can have the devices of these addresses. Proxmox VE takes a device from its driver when a machine
// starts (pve-common, SysFSTools.pm), which drivers of displays do not always allow, so only those count.
func Of(host string, facts Facts, devices []Device, wanted []string) Lack {
	lack := Lack{host: host, facts: facts, devices: devices, wanted: slices.Clone(wanted)}
	slices.Sort(lack.wanted)
	lack.wanted = slices.Compact(lack.wanted)
	for _, address := range lack.wanted {
		at := slices.IndexFunc(devices, func(d Device) bool { return d.Address == address })
		if at < 0 {
			continue
		}
		if !devices[at].HasGroup {
			lack.ungrouped = append(lack.ungrouped, address)
		}
		if driver := facts.Report.Drivers[address].InUse; devices[at].IsDisplay && driver != "" && driver != VFIO && !lack.isVirtual(devices[at]) {
			lack.held = append(lack.held, address)
		}
	}
	return lack
}

// isVirtual reports whether a display is a virtual function (SR-IOV). The API does not show that, so it is one if its slot has another display as
// function 0. The driver of function 0 makes the virtual functions, which often have the same ID. If vfio-pci got that ID, it would take function 0
// too, and the virtual functions would be gone. Proxmox VE takes them from their driver when a machine starts.
func (l Lack) isVirtual(device Device) bool {
	physical := slot(device.Address) + ".0"
	return device.IsDisplay && device.Address != physical && slices.ContainsFunc(l.devices, func(other Device) bool {
		return other.IsDisplay && other.Address == physical
	})
}

// IsEmpty reports whether the host lacks nothing.
func (l Lack) IsEmpty() bool { return len(l.ungrouped) == 0 && len(l.held) == 0 }

// HasNoIOMMU reports whether a device is in no IOMMU group, so that no machine can have it.
func (l Lack) HasNoIOMMU() bool { return len(l.ungrouped) > 0 }

// String returns what is lacking, as a sentence.
func (l Lack) String() string {
	var parts []string
	switch len(l.ungrouped) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("PCI %s on %s is in no IOMMU group: the IOMMU is off", l.ungrouped[0], l.host))
	default:
		parts = append(parts, fmt.Sprintf("PCI %s on %s are in no IOMMU group: the IOMMU is off", strings.Join(l.ungrouped, ", "), l.host))
	}
	for _, address := range l.held {
		parts = append(parts, fmt.Sprintf("PCI %s on %s has the host's driver %s, not %s", address, l.host, l.facts.Report.Drivers[address].InUse, VFIO))
	}
	return strings.Join(parts, "; ")
}
