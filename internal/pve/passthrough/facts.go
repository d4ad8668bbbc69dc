// Package passthrough determines what a host lacks before machines can have its PCI devices, and the commands for it: nothing of that can be done
// through the API of Proxmox VE. It is pure. The facts are those of pve-docs (qm-pci-passthrough.adoc, system-booting.adoc).
package passthrough

import (
	"slices"
	"strconv"
	"strings"
)

// Vendor is the vendor of a host's processor.
type Vendor string

// Values of Vendor. The zero value is a vendor that is not known.
const (
	Intel Vendor = "Intel"
	AMD   Vendor = "AMD"
)

// VendorOf returns the vendor in the name of a processor.
func VendorOf(model string) Vendor {
	for _, vendor := range []Vendor{Intel, AMD} {
		if strings.Contains(model, string(vendor)) {
			return vendor
		}
	}
	return ""
}

// Loader is a boot loader. It decides where the command line of the kernel is.
type Loader string

// Values of Loader. The zero value is a loader that is not known.
const (
	GRUB        Loader = "GRUB"
	SystemdBoot Loader = "systemd-boot"
)

// Facts are what a host reports about itself. What is not known is empty.
type Facts struct {
	// Processor is the vendor of the processor.
	Processor Vendor
	// Kernel is the release of the running kernel, such as 6.8.12-9-pve.
	Kernel string
	// LegacyBIOS and SecureBoot are how the firmware has started it.
	LegacyBIOS, SecureBoot bool
	// Report has what only the host's report says.
	Report Report
	// ReportErr is why there is no report.
	ReportErr error
}

// loader returns the boot loader. GRUB puts BOOT_IMAGE before the command line of the kernel, which systemd-boot does not. Without a
// report, it is GRUB with a legacy BIOS and with Secure Boot, for which Proxmox VE installs no other one (system-booting.adoc).
func (f Facts) loader() Loader {
	switch {
	case f.hasOption("BOOT_IMAGE"):
		return GRUB
	case len(f.Report.CommandLine) > 0:
		return SystemdBoot
	case f.LegacyBIOS, f.SecureBoot:
		return GRUB
	default:
		return ""
	}
}

// hasOption reports whether the kernel was started with an option, whatever its value is.
func (f Facts) hasOption(name string) bool {
	return slices.ContainsFunc(f.Report.CommandLine, func(option string) bool {
		key, _, _ := strings.Cut(option, "=")
		return key == name
	})
}

// The first kernel that turns the IOMMU of Intel's processors on by itself (qm-pci-passthrough.adoc).
const intelMajor, intelMinor = 6, 8

// turnsOnItself reports whether the kernel turns the IOMMU on if the firmware offers it. A kernel of an unknown release does not.
func (f Facts) turnsOnItself() bool {
	if f.Processor == AMD {
		return true
	}
	parts := strings.SplitN(f.Kernel, ".", 3)
	if len(parts) < 3 {
		return false
	}
	major, majorErr := strconv.Atoi(parts[0])
	minor, minorErr := strconv.Atoi(parts[1])
	return majorErr == nil && minorErr == nil && (major > intelMajor || major == intelMajor && minor >= intelMinor)
}
