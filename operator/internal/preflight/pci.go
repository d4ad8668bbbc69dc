package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// The class of display controllers, and the vendors of GPUs for computing; other vendors make the consoles of servers.
const displayClass = "03"

var gpuMakers = []string{"10de", "1002", "8086"} // NVIDIA, AMD, Intel (pci.ids)

// gpusOn returns the devices of a host that could be passed through to a GPU worker.
func gpusOn(devices []pve.PCIDevice) []pve.PCIDevice {
	return slices.DeleteFunc(slices.Clone(devices), func(device pve.PCIDevice) bool {
		return !strings.HasPrefix(bare(device.Class), displayClass) || !slices.Contains(gpuMakers, bare(device.Vendor))
	})
}

// gpuLine returns the line of nodes.yaml for a device, with all four facts that Proxmox VE compares when the machine starts (F14).
func gpuLine(device pve.PCIDevice) string {
	return fmt.Sprintf("gpus: [{bdf: %s, deviceId: %s, subsystemId: %s, iommuGroup: %d}]",
		device.Address, deviceID(device), subsystemID(device), device.IOMMUGroup)
}

func deviceID(device pve.PCIDevice) string { return bare(device.Vendor) + ":" + bare(device.Device) }

func subsystemID(device pve.PCIDevice) string {
	return bare(device.SubsystemVendor) + ":" + bare(device.SubsystemDevice)
}

// bare returns a hexadecimal number without its 0x.
func bare(id string) string { return strings.ToLower(strings.TrimPrefix(id, "0x")) }

// slot returns the address of a function's device, without the function.
func slot(address string) string {
	before, _, _ := strings.Cut(address, ".")
	return before
}

func deviceAt(devices []pve.PCIDevice, address string) (pve.PCIDevice, bool) {
	at := slices.IndexFunc(devices, func(device pve.PCIDevice) bool { return device.Address == address })
	if at < 0 {
		return pve.PCIDevice{}, false
	}
	return devices[at], true
}

// differs returns the facts in the inventory that differ from the device's.
func differs(gpu inventory.GPU, device pve.PCIDevice) []string {
	var facts []string
	add := func(name, wanted, found string) {
		if wanted != found {
			facts = append(facts, fmt.Sprintf("%s %s, not %s", name, found, wanted))
		}
	}
	add("deviceId", string(gpu.DeviceID), deviceID(device))
	add("subsystemId", string(gpu.SubsystemID), subsystemID(device))
	if gpu.IOMMUGroup != nil {
		add("iommuGroup", fmt.Sprint(*gpu.IOMMUGroup), fmt.Sprint(device.IOMMUGroup))
	}
	return facts
}

// mappedOn returns the addresses of a mapping on a host: of each device its first function.
func mappedOn(mapping pve.Mapping, host string) []string {
	var addresses []string
	for _, path := range pathsOn(mapping, host) {
		first, _, _ := strings.Cut(path, ";") // several functions of one device
		addresses = append(addresses, pve.PCIAddress(first))
	}
	return addresses
}

// pathsOn returns the paths of a mapping on a host as they are written: a path without a function is the whole slot.
func pathsOn(mapping pve.Mapping, host string) []string {
	var paths []string
	for _, entry := range mapping.Map {
		var node, path string
		for option := range strings.SplitSeq(entry, ",") {
			switch name, value, _ := strings.Cut(option, "="); name {
			case "node":
				node = value
			case "path":
				path = value
			}
		}
		if node == host {
			paths = append(paths, path)
		}
	}
	return paths
}

// passed returns the addresses and mappings that a guest's configuration passes through.
func passed(config pve.GuestConfig) (addresses, mappings []string) {
	for key, value := range config {
		if !numbered(key, "hostpci") {
			continue
		}
		for option := range strings.SplitSeq(value, ",") {
			name, content, named := strings.Cut(option, "=")
			switch {
			case !named:
				addresses = append(addresses, strings.Split(name, ";")...)
			case name == "host":
				addresses = append(addresses, strings.Split(content, ";")...)
			case name == "mapping":
				mappings = append(mappings, content)
			}
		}
	}
	return addresses, mappings
}

// covers reports whether an address in a configuration, with or without domain and function, matches a device.
func covers(configured, address string) bool {
	if strings.Count(configured, ":") == 1 {
		configured = "0000:" + configured
	}
	return configured == address || configured == slot(address)
}
