package components

import (
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// GPU is a PCI device of a host that is passed through to a machine. It always comes from a resource mapping: passing a device
// by its address alone needs root@pam with a password, which an API token cannot replace (F14).
type GPU struct {
	// Mapping is the name of a PCI resource mapping of Proxmox VE. A mapping can hold devices of several hosts, and several
	// of one host; the machine gets a free one of its own host. Required. A change reboots the machine.
	Mapping string
	// Device is the device that the mapping is created from. Default: nil, the mapping exists already. A change of its facts
	// changes the mapping in place, and the machine sees it when it starts again.
	Device *PCIDevice
}

// PCIDevice is a device of the machine's host as `lspci -Dnnv` shows it. Proxmox VE compares all four facts when a machine
// with it starts (PVE/Mapping/PCI.pm in pve-guest-common), so that nothing else is passed through by mistake. A change
// of any of them changes the mapping in place.
type PCIDevice struct {
	// BDF is its address, domain:bus:device.function, e.g. 0000:01:00.0. Required.
	BDF string
	// DeviceID is vendor:device, e.g. 10de:2204. Required.
	DeviceID string
	// SubsystemID is vendor:device of the subsystem, e.g. 1462:3881. Required.
	SubsystemID string
	// IOMMUGroup is the number of the device's IOMMU group, 0 or more. Required.
	IOMMUGroup int
}

func (m Machine) validateGPUs() error {
	problems := []error{
		require(len(m.GPUs) == 0 || m.Role == RoleWorker, "GPUs", "only a worker can have some: choose RoleWorker"),
		require(m.Driver == "" || len(m.GPUs) > 0, "Driver", "only a machine with GPUs has one: give GPUs, or leave it out"),
		require(m.Driver == "" || m.Driver.Extensions() != nil, "Driver", fmt.Sprintf("%q is unknown: use NVIDIAOpen or one of its siblings", m.Driver)),
		require(len(m.GPUs) <= hardware.MaxGPUs, "GPUs", fmt.Sprintf("%d are more than a machine can have: give at most %d", len(m.GPUs), hardware.MaxGPUs)),
	}
	for i, gpu := range m.GPUs {
		at := fmt.Sprintf("GPUs[%d]", i)
		problems = append(problems, require(gpu.Mapping != "", at+".Mapping", "name the resource mapping"),
			requireName(limits.Mapping, gpu.Mapping, at+".Mapping"))
		if gpu.Device != nil {
			problems = append(problems, gpu.Device.validate(at+".Device"))
		}
	}
	return errors.Join(problems...)
}

func (d PCIDevice) validate(at string) error {
	return errors.Join(
		require(d.BDF != "", at+".BDF", "give the PCI address, e.g. 0000:01:00.0"),
		require(d.DeviceID != "", at+".DeviceID", "give vendor:device, e.g. 10de:2204"),
		require(d.SubsystemID != "", at+".SubsystemID", "give vendor:device of the subsystem, e.g. 1462:3881"),
		require(d.IOMMUGroup >= 0, at+".IOMMUGroup", "give the number of the group, 0 or more"),
	)
}
