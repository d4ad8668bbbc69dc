package mapping

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Adopt adds the mappings of the hosts' devices.
func (s *Service) Adopt(hosts []hardware.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for id, fresh := range mapped(hosts) {
		if known, ok := s.pci[id]; ok {
			known.adopt(fresh)
		} else {
			s.pci[id] = fresh
		}
	}
}

// mapped returns the mappings of the hosts' devices as the web interface creates them: with all values that Proxmox VE checks
// when a VM starts.
func mapped(hosts []hardware.Host) map[string]*mapping {
	mappings := map[string]*mapping{}

	for _, h := range hosts {
		for _, d := range h.PCI {
			if d.Mapping == "" {
				continue
			}

			m, ok := mappings[d.Mapping]
			if !ok {
				m = &mapping{ID: d.Mapping, Type: "pci"}
				mappings[d.Mapping] = m
			}

			if entry := entryOf(h.Name, d); !slices.Contains(m.Map, entry) {
				m.Map = append(m.Map, entry)
			}
		}
	}

	return mappings
}

func entryOf(node string, d hardware.PCIDevice) string {
	return fmt.Sprintf("id=%s:%s,iommugroup=%d,node=%s,path=%s,subsystem-id=%s:%s",
		hardware.BareHex(d.Vendor), hardware.BareHex(d.Device), d.IOMMUGroup, node, d.Address,
		hardware.BareHex(d.SubsystemVendor), hardware.BareHex(d.SubsystemDevice))
}

// adopt replaces the entries of the same devices by those of another mapping.
func (m *mapping) adopt(fresh *mapping) {
	m.Map = slices.DeleteFunc(slices.Clone(m.Map), func(entry string) bool {
		return slices.ContainsFunc(fresh.Map, func(now string) bool { return deviceOf(now) == deviceOf(entry) })
	})
	m.Map = append(m.Map, fresh.Map...)
}

// deviceOf returns the node and the path of a mapping's entry.
func deviceOf(entry string) (device [2]string) {
	for property := range strings.SplitSeq(entry, ",") {
		switch name, value, _ := strings.Cut(property, "="); name {
		case "node":
			device[0] = value
		case "path":
			device[1] = value
		}
	}

	return device
}

// kept is the persistent state.
type kept struct {
	PCI map[string]*mapping `json:"pci_mappings"`
	USB map[string]*mapping `json:"usb_mappings"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	s.mu.Lock()

	return kept{PCI: s.pci, USB: s.usb}, s.mu.Unlock
}

// Restore loads the persistent state.
func (s *Service) Restore(state []byte, _ time.Time) error {
	restored := kept{PCI: map[string]*mapping{}, USB: map[string]*mapping{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.pci, s.usb = restored.PCI, restored.USB

	return nil
}

// PCIPaths returns the paths of a PCI mapping on a node. Each entry is compared with the hardware (qemu-server
// QemuServer/PCI.pm, parse_hostpci).
func (s *Service) PCIPaths(name, node string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, ok := s.pci[name]
	if !ok {
		return nil, fmt.Errorf("PCI device mapping not found for '%s'", name)
	}

	entries := s.entriesOn(m, node)
	if len(entries) == 0 {
		return nil, fmt.Errorf("PCI device mapping not found for '%s'", name)
	}

	paths := make([]string, len(entries))

	for i, entry := range entries {
		if err := s.valid(m, entry, node); err != nil {
			return nil, fmt.Errorf("PCI device mapping invalid (hardware probably changed): %w", err)
		}

		paths[i] = entry["path"]
	}

	return paths, nil
}

// valid compares an entry with the hardware (pve-guest-common Mapping/PCI.pm, assert_valid): every property of the device
// must be present and equal.
func (s *Service) valid(m *mapping, entry schema.Properties, node string) error {
	host, _ := s.env.Nodes.Host(node)

	for i, path := range strings.Split(entry["path"], ";") {
		device, err := host.Device(path)
		if err == nil {
			err = m.agrees(device, host.GroupOf(device), entry, i == 0)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

func (m *mapping) agrees(d hardware.PCIDevice, group int, entry schema.Properties, first bool) error {
	subsystem := ""
	if d.SubsystemVendor != "" && d.SubsystemDevice != "" {
		subsystem = hardware.BareHex(d.SubsystemVendor) + ":" + hardware.BareHex(d.SubsystemDevice)
	}

	inGroup := ""
	if group >= 0 {
		inGroup = strconv.Itoa(group)
	}

	mdev := "0"
	if d.MediatedDevices {
		mdev = "1"
	}

	properties := []struct{ name, expected, configured string }{
		{"id", hardware.BareHex(d.Vendor) + ":" + hardware.BareHex(d.Device), hardware.BareHex(entry["id"])},
		{"iommugroup", inGroup, entry["iommugroup"]},
		{"mdev", mdev, strconv.Itoa(m.Mdev)},
		{"subsystem-id", subsystem, hardware.BareHex(entry["subsystem-id"])},
	}

	for _, p := range properties {
		switch {
		case p.name == "iommugroup" && !first, p.expected == p.configured:
		case p.configured == "":
			return fmt.Errorf("missing expected property '%s' for device '%s'", p.name, d.Address)
		case p.expected == "":
			return fmt.Errorf("unexpected property '%s' configured for device '%s'", p.name, d.Address)
		default:
			return fmt.Errorf("'%s' does not match for '%s' (%s != %s)", p.name, m.ID, p.expected, p.configured)
		}
	}

	return nil
}
