package proxmox

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// resolvePCI finds the devices behind a hostpci setting, beside those that the VM has already (qemu-server
// QemuServer/PCI.pm, parse_hostpci and choose_hostpci_devices): of several alternatives the first that is free. A single
// one is taken even when another VM has it; its start fails then.
func (s *Server) resolvePCI(m *vm, key string, device schema.Properties, taken []string) ([]string, error) {
	if device["pcie"] == "1" && !strings.Contains(m.Config.Get("machine"), "q35") {
		return nil, fmt.Errorf("q35 machine model is not enabled at /usr/share/perl5/PVE/QemuServer/PCI.pm")
	}

	alternatives, err := s.alternatives(m, device)
	if err != nil {
		return nil, err
	}

	isTaken := func(address string) bool { return slices.Contains(taken, address) }

	if len(alternatives) == 1 {
		if i := slices.IndexFunc(alternatives[0], isTaken); i >= 0 {
			return nil, fmt.Errorf("device '%s' assigned more than once", alternatives[0][i])
		}

		return alternatives[0], nil
	}

	for _, found := range alternatives {
		if !slices.ContainsFunc(found, isTaken) && !s.inUse(m, found) {
			return found, nil
		}
	}

	return nil, fmt.Errorf("could not find a free device for '%s'", key)
}

// alternatives are the sets of devices of which a hostpci setting means one.
func (s *Server) alternatives(m *vm, device schema.Properties) ([][]string, error) {
	paths := []string{device["host"]}

	if name := device["mapping"]; name != "" {
		entries, err := s.mapped(m, name)
		if err != nil {
			return nil, err
		}

		paths = nil
		for _, entry := range entries {
			paths = append(paths, entry["path"])
		}
	}

	found := make([][]string, len(paths))

	for i, path := range paths {
		var err error
		if found[i], err = s.devicesAt(m.Node, path); err != nil {
			return nil, err
		}
	}

	return found, nil
}

func (s *Server) mapped(m *vm, name string) ([]schema.Properties, error) {
	mapping, ok := s.state.PCIMappings[name]
	if !ok {
		return nil, fmt.Errorf("PCI device mapping not found for '%s'", name)
	}

	entries := s.entriesOn(mapping, m.Node)
	if len(entries) == 0 {
		return nil, fmt.Errorf("PCI device mapping not found for '%s'", name)
	}

	for _, entry := range entries {
		if err := s.validMapping(mapping, entry, m.Node); err != nil {
			return nil, fmt.Errorf("PCI device mapping invalid (hardware probably changed): %w", err)
		}
	}

	return entries, nil
}

// inUse reports whether another running VM has one of the devices.
func (s *Server) inUse(m *vm, addresses []string) bool {
	return slices.ContainsFunc(s.state.sorted(), func(other *vm) bool {
		return other.ID != m.ID && other.Node == m.Node && slices.ContainsFunc(other.PCI, func(address string) bool {
			return slices.Contains(addresses, address)
		})
	})
}

var pciFunction = regexp.MustCompile(`\.[0-9a-f]$`)

// devicesAt lists the devices at a path: several parts are joined by semicolons, a part without a function stands for
// all functions of the slot.
func (s *Server) devicesAt(node, path string) ([]string, error) {
	host, _ := s.host(node)

	var addresses []string

	for part := range strings.SplitSeq(path, ";") {
		if strings.Count(part, ":") == 1 {
			part = "0000:" + part
		}

		found := false

		for _, d := range host.PCI {
			if d.Address == part || !pciFunction.MatchString(part) && strings.HasPrefix(d.Address, part+".") {
				addresses = append(addresses, d.Address)
				found = true
			}
		}

		if !found {
			return nil, fmt.Errorf("no PCI device found for '%s'", part)
		}
	}

	return addresses, nil
}

// validMapping holds an entry against the hardware (pve-guest-common Mapping/PCI.pm, assert_valid): every property
// that the device has must be there and agree.
func (s *Server) validMapping(m *mapping, entry schema.Properties, node string) error {
	host, _ := s.host(node)

	for i, path := range strings.Split(entry["path"], ";") {
		if !pciFunction.MatchString(path) {
			path += ".0"
		}

		at := slices.IndexFunc(host.PCI, func(d PCIDevice) bool { return d.Address == path })
		if at < 0 {
			return fmt.Errorf("pci device '%s' not found", path)
		}

		if err := host.PCI[at].agrees(m, entry, path, i == 0); err != nil {
			return err
		}
	}

	return nil
}

func (d PCIDevice) agrees(m *mapping, entry schema.Properties, path string, first bool) error {
	subsystem := ""
	if d.SubsystemVendor != "" && d.SubsystemDevice != "" {
		subsystem = bareHex(d.SubsystemVendor) + ":" + bareHex(d.SubsystemDevice)
	}

	mdev := "0"
	if d.MediatedDevices {
		mdev = "1"
	}

	properties := []struct{ name, expected, configured string }{
		{"id", bareHex(d.Vendor) + ":" + bareHex(d.Device), bareHex(entry["id"])},
		{"iommugroup", strconv.Itoa(d.IOMMUGroup), entry["iommugroup"]},
		{"mdev", mdev, strconv.Itoa(m.Mdev)},
		{"subsystem-id", subsystem, bareHex(entry["subsystem-id"])},
	}

	for _, p := range properties {
		switch {
		case p.name == "iommugroup" && !first, p.expected == p.configured:
		case p.configured == "":
			return fmt.Errorf("missing expected property '%s' for device '%s'", p.name, path)
		case p.expected == "":
			return fmt.Errorf("unexpected property '%s' configured for device '%s'", p.name, path)
		default:
			return fmt.Errorf("'%s' does not match for '%s' (%s != %s)", p.name, m.ID, p.expected, p.configured)
		}
	}

	return nil
}

func bareHex(id string) string { return strings.ReplaceAll(id, "0x", "") }

// pciEntry is a device as the API lists it.
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

// listPCI answers GET /nodes/{node}/hardware/pci, without the classes that are blacklisted by default: memory
// controllers, bridges and processors.
func (s *Server) listPCI(c *call) (any, error) {
	host, _ := s.host(c.node)

	hidden := []string{"05", "06", "0b"}
	if c.params.Has("pci-class-blacklist") {
		hidden = c.params.List("pci-class-blacklist")
	}

	list := []pciEntry{}

	for _, d := range host.PCI {
		isHidden := slices.ContainsFunc(hidden, func(class string) bool {
			return strings.HasPrefix(bareHex(d.Class), class)
		})
		if isHidden {
			continue
		}

		entry := pciEntry{
			ID: d.Address, Class: d.Class, Vendor: d.Vendor, Device: d.Device, VendorName: d.VendorName,
			DeviceName: d.DeviceName, SubsystemVendor: d.SubsystemVendor, SubsystemDevice: d.SubsystemDevice,
			IOMMUGroup: d.IOMMUGroup,
		}
		if d.MediatedDevices {
			entry.Mdev = 1
		}

		list = append(list, entry)
	}

	return list, nil
}

// listUSB answers GET /nodes/{node}/hardware/usb; the lab's hosts have no USB devices.
func (s *Server) listUSB(*call) (any, error) { return []struct{}{}, nil }
