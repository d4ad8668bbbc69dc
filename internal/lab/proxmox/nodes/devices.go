package nodes

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// pciEntry is a device in the API.
type pciEntry struct {
	ID                  string `json:"id"`
	Class               string `json:"class"`
	Vendor              string `json:"vendor"`
	Device              string `json:"device"`
	VendorName          string `json:"vendor_name,omitempty"`
	DeviceName          string `json:"device_name,omitempty"`
	SubsystemVendor     string `json:"subsystem_vendor,omitempty"`
	SubsystemDevice     string `json:"subsystem_device,omitempty"`
	SubsystemVendorName string `json:"subsystem_vendor_name,omitempty"`
	IOMMUGroup          int    `json:"iommugroup"`
	Mdev                int    `json:"mdev,omitempty"`
}

// listPCI handles GET /nodes/{node}/hardware/pci. It leaves out the default class blacklist: memory controllers, bridges and
// processors.
func (s *Service) listPCI(c *api.Call) (any, error) {
	host, _ := s.env.Nodes.Host(c.Node)

	hidden := []string{"05", "06", "0b"}
	if c.Params.Has("pci-class-blacklist") {
		hidden = c.Params.List("pci-class-blacklist")
	}

	list := []pciEntry{}

	for _, d := range host.PCI {
		isHidden := slices.ContainsFunc(hidden, func(class string) bool {
			return strings.HasPrefix(hardware.BareHex(d.Class), class)
		})
		if isHidden {
			continue
		}

		entry := pciEntry{
			ID: d.Address, Class: d.Class, Vendor: d.Vendor, Device: d.Device, VendorName: d.VendorName,
			DeviceName: d.DeviceName, SubsystemVendor: d.SubsystemVendor, SubsystemDevice: d.SubsystemDevice,
			IOMMUGroup: host.GroupOf(d),
		}
		if d.MediatedDevices {
			entry.Mdev = 1
		}

		list = append(list, entry)
	}

	return list, nil
}

// listUSB handles GET /nodes/{node}/hardware/usb. The lab's hosts have no USB devices.
func (s *Service) listUSB(*api.Call) (any, error) { return []struct{}{}, nil }
