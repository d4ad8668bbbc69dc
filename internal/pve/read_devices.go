package pve

import (
	"context"
	"strings"
)

// PCIDevice is a device of a host. IDs are hexadecimal and may begin with 0x.
type PCIDevice struct {
	// Address is domain:bus:slot.function.
	Address         string `json:"id"`
	Class           string `json:"class"`
	Vendor          string `json:"vendor"`
	Device          string `json:"device"`
	SubsystemVendor string `json:"subsystem_vendor"`
	SubsystemDevice string `json:"subsystem_device"`
	VendorName      string `json:"vendor_name"`
	DeviceName      string `json:"device_name"`
	// IOMMUGroup is negative if the host's IOMMU is off.
	IOMMUGroup int `json:"iommugroup"`
}

// PCIAddress returns an address of a configuration or of a mapping with its domain and function: Proxmox VE may leave both out. An address without a
// function means the whole slot, whose first function has the facts.
func PCIAddress(text string) string {
	if strings.Count(text, ":") == 1 {
		text = "0000:" + text
	}
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return strings.ToLower(text)
}

// PCIDevices returns the devices of a host, without bridges, memory controllers and processors.
func (r Reader) PCIDevices(ctx context.Context, node string) (devices []PCIDevice, err error) {
	return devices, r.get(ctx, &devices, nodePath(node, "hardware/pci"))
}

// Mapping is a resource mapping of PCI devices.
type Mapping struct {
	ID string `json:"id"`
	// Map has one entry for each device, e.g. id=10de:2204,node=vmhost,path=0000:01:00.0.
	Map []string `json:"map"`
	// Checks are its problems on the queried host.
	Checks []MappingCheck `json:"checks"`
}

// MappingCheck is a problem that Proxmox VE reports for a mapping.
type MappingCheck struct {
	// Severity is warning or error.
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// Mappings returns the mappings of PCI devices that the token may see, checked on a host.
func (r Reader) Mappings(ctx context.Context, node string) (mappings []Mapping, err error) {
	return mappings, r.get(ctx, &mappings, "/cluster/mapping/pci", "check-node", node)
}
