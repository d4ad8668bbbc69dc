package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// mappedDevices checks that the devices of the mappings are on their hosts, with the facts that Proxmox VE compares when a machine starts. It
// returns the devices of each host with a mapping; none if those of a host cannot be read.
func (s *collector) mappedDevices(ctx context.Context, reader pve.Reader, inv *hosts.Inventory) map[string][]pve.PCIDevice {
	found := map[string][]pve.PCIDevice{}
	for _, host := range mappedHosts(inv) {
		devices, err := reader.PCIDevices(ctx, host)
		if err != nil {
			s.unread("mapping", "the PCI devices of "+host, err)
			return nil
		}
		found[host] = devices
	}
	for _, mapping := range inv.File.Mappings {
		mark := len(s.checks)
		for _, wanted := range mapping.Devices {
			s.mappedDevice(mapping.Name, wanted, found[wanted.Host])
		}
		if s.sound(mark) {
			s.ok("mapping", "the hosts have the devices of the mapping %s", mapping.Name)
		}
	}
	return found
}

// mappedPassthrough checks that machines could have the devices of the mappings. A slow report of a host does not reduce the time for the other
// checks or for other hosts.
func (s *collector) mappedPassthrough(ctx context.Context, host pve.Connection, inv *hosts.Inventory, found map[string][]pve.PCIDevice) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asked := slices.DeleteFunc(mappedHosts(inv), func(name string) bool {
		return !asksForPassthrough(found[name], mappedAddresses(inv, name))
	})
	facts := make([]Reading[passthrough.Facts], len(asked))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, name := range asked {
		group.Go(func() error {
			facts[i].Value, facts[i].Err = host.Passthrough(bounded, name)
			return nil
		})
	}
	_ = group.Wait() // a failed reading contains its error
	for i, name := range asked {
		// A mapping is made nevertheless: it is a name for devices, and the rest of the site does not wait for a person.
		s.passthrough("mapping", name, Warn, facts[i], found[name], mappedAddresses(inv, name))
	}
}

// mappedDevice checks the facts of a device. The group of a device without one is not compared: that finding is about the host.
func (s *collector) mappedDevice(mapping string, wanted hosts.MappedDevice, devices []pve.PCIDevice) {
	device, there := deviceAt(devices, string(wanted.BDF))
	if !there {
		s.fail("mapping", fmt.Sprintf("look with `lspci -Dnn` on %s", wanted.Host), "PCI %s of the mapping %s is not on %s", wanted.BDF, mapping, wanted.Host)
		return
	}
	compared := inventory.GPU{DeviceID: wanted.DeviceID, SubsystemID: wanted.SubsystemID}
	group := wanted.IOMMUGroup
	if device.IOMMUGroup >= 0 {
		compared.IOMMUGroup, group = &wanted.IOMMUGroup, device.IOMMUGroup
	}
	if facts := differs(compared, device); len(facts) > 0 {
		s.fail("mapping", fmt.Sprintf("write deviceId: %s, subsystemId: %s, iommuGroup: %d", deviceID(device), subsystemID(device), group),
			"PCI %s on %s has %s", wanted.BDF, wanted.Host, strings.Join(facts, " and "))
	}
}

// mappedHosts returns the hosts with devices in mappings, in the order of the inventory.
func mappedHosts(inv *hosts.Inventory) []string {
	return slices.DeleteFunc(inv.Hosts(), func(host string) bool { return len(mappedAddresses(inv, host)) == 0 })
}

// mappedAddresses returns the addresses of the devices of a host in mappings.
func mappedAddresses(inv *hosts.Inventory, host string) []string {
	var addresses []string
	for _, mapping := range inv.File.Mappings {
		for _, device := range mapping.Devices {
			if device.Host == host {
				addresses = append(addresses, string(device.BDF))
			}
		}
	}
	return addresses
}
