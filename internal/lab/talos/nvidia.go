package talos

import (
	"strings"

	"github.com/em-infra/em-infra/internal/nvidia"
)

// NVIDIADevices returns the NVIDIA display controllers of a machine.
func (h Hardware) NVIDIADevices() []PCIDevice {
	var found []PCIDevice

	for _, device := range h.PCI {
		if device.Vendor == "0x10de" && strings.HasPrefix(device.Class, "0x03") {
			found = append(found, device)
		}
	}

	return found
}

// DrivenBy returns the NVIDIA GPUs of a machine that the driver in a build of Talos supports. The driver probes each device
// and skips those that it does not support (NVIDIA/open-gpu-kernel-modules 595.45.04, kernel-open/nvidia/nv-pci.c and
// src/nvidia/arch/nvalloc/unix/src/osapi.c, rm_is_supported_device: "not supported by open nvidia.ko because it does not
// include the required GPU System Processor"; a GPU that is too old is "supported through the NVIDIA 580.xx Legacy drivers",
// NixOS/nixos-hardware#1880). A device of an unknown generation counts as supported.
func (h Hardware) DrivenBy(release Release) []PCIDevice {
	names := make([]string, 0, len(release.Extensions))
	for _, extension := range release.Extensions {
		names = append(names, extension.Name)
	}

	driver, _ := nvidia.Installed(names)
	if driver == (nvidia.Driver{}) {
		return nil
	}

	var driven []PCIDevice

	for _, device := range h.NVIDIADevices() {
		generation := nvidia.GenerationOf(strings.TrimPrefix(device.Vendor, "0x") + ":" + strings.TrimPrefix(device.Device, "0x"))
		if driver.Misfit(generation, driver.Branch.Release(release.Version)) == "" {
			driven = append(driven, device)
		}
	}

	return driven
}
