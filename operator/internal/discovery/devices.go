package discovery

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// gpus returns the PCI devices that are passed through. One that is named by its address has the facts of the host, from which a resource
// mapping is created.
func (m Machine) gpus() []gpuKeys {
	var keys []gpuKeys
	for i := range hardware.MaxGPUs {
		setting := m.Config[hardware.PCISlot(i)]
		if setting == "" {
			continue
		}
		first, _, _ := strings.Cut(setting, ",")
		if mapping, isMapping := strings.CutPrefix(first, "mapping="); isMapping {
			keys = append(keys, gpuKeys{Mapping: mapping})
			continue
		}
		for one := range strings.SplitSeq(strings.TrimPrefix(first, "host="), ";") { // several functions, for instance
			device := m.deviceAt(pve.PCIAddress(one))
			device.allFunctions = !strings.Contains(one, ".")
			keys = append(keys, device)
		}
	}
	return keys
}

// deviceAt returns the device at an address, with the facts that the host reported.
func (m Machine) deviceAt(bdf string) gpuKeys {
	keys := gpuKeys{BDF: bdf}
	at := slices.IndexFunc(m.Devices, func(d pve.PCIDevice) bool { return strings.EqualFold(d.Address, bdf) })
	if at < 0 {
		return keys
	}
	device := m.Devices[at]
	keys.DeviceID = model(device.Vendor, device.Device)
	keys.SubsystemID = model(device.SubsystemVendor, device.SubsystemDevice)
	if device.IOMMUGroup >= 0 {
		keys.IOMMUGroup = &device.IOMMUGroup
	}
	return keys
}

// isWhole reports whether the host reported everything that a resource mapping is created from.
func (k gpuKeys) isWhole() bool {
	return k.DeviceID != "" && k.SubsystemID != "" && k.IOMMUGroup != nil
}

// model returns vendor:device in the form of an inventory; empty if one of them is missing.
func model(vendor, device string) string {
	if vendor == "" || device == "" {
		return ""
	}
	bare := func(id string) string { return strings.ToLower(strings.TrimPrefix(id, "0x")) }
	return bare(vendor) + ":" + bare(device)
}

// PassesDevice reports whether a machine has a PCI device by its address, and not by a resource mapping.
func (m Machine) PassesDevice() bool {
	return slices.ContainsFunc(m.gpus(), func(g gpuKeys) bool { return g.BDF != "" })
}
