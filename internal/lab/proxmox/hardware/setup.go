package hardware

import "maps"

// Setup is what a person sets in the firmware of a host and as root on it: what no method of the API changes. The zero value is a
// host as its installer leaves it, with ext4, UEFI and GRUB.
type Setup struct {
	// IOMMUOff is whether the firmware or the kernel leaves the IOMMU off, so that no device is in an IOMMU group.
	IOMMUOff bool `json:"iommuOff,omitempty"`
	// Drivers are the host's drivers that have devices, by the address of the device.
	Drivers map[string]string `json:"drivers,omitempty"`
	// LegacyBIOS, SecureBoot and ZFS determine how the host starts, and where its root file system is. UEFI and ZFS without Secure
	// Boot have systemd-boot, everything else has GRUB.
	LegacyBIOS bool `json:"legacyBIOS,omitempty"`
	SecureBoot bool `json:"secureBoot,omitempty"`
	ZFS        bool `json:"zfs,omitempty"`
	// Kernel is the release of its kernel; the default is that of its Proxmox VE.
	Kernel string `json:"kernel,omitempty"`
	// KernelOptions are more options of the kernel's command line.
	KernelOptions string `json:"kernelOptions,omitempty"`
	// NoIfupdown2 is whether the package ifupdown2 is missing, as after an installation on Debian.
	NoIfupdown2 bool `json:"noIfupdown2,omitempty"`
}

// SystemdBoot reports whether systemd-boot is the boot loader.
func (s Setup) SystemdBoot() bool { return s.ZFS && !s.LegacyBIOS && !s.SecureBoot }

// SetupChange changes the setup of a host. What is nil or absent stays.
type SetupChange struct {
	// IOMMU turns the IOMMU on or off.
	IOMMU *bool `json:"iommu,omitempty"`
	// Drivers give devices to drivers, by address; an empty name leaves the device without one.
	Drivers map[string]string `json:"drivers,omitempty"`
}

// Changed returns the setup after a change.
func (s Setup) Changed(change SetupChange) Setup {
	if change.IOMMU != nil {
		s.IOMMUOff = !*change.IOMMU
	}

	s.Drivers = maps.Clone(s.Drivers)
	if s.Drivers == nil {
		s.Drivers = map[string]string{}
	}

	for address, driver := range change.Drivers {
		if driver == "" {
			delete(s.Drivers, address)
			continue
		}

		s.Drivers[address] = driver
	}

	return s
}

// GroupOf returns the IOMMU group of a device of the host; -1 for none (pve-common, SysFSTools.pm, lspci).
func (h Host) GroupOf(d PCIDevice) int {
	if h.Setup.IOMMUOff {
		return -1
	}

	return d.IOMMUGroup
}
