package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// byHand is what to do about a finding that only a person at a host can end.
func byHand(host string) string {
	return fmt.Sprintf("run these commands on %s as root, which the API of Proxmox VE cannot do, then run `em-infra preflight`", host)
}

// functions returns the devices of a host as package passthrough knows them.
func functions(devices []pve.PCIDevice) []passthrough.Device {
	all := make([]passthrough.Device, len(devices))
	for i, device := range devices {
		all[i] = passthrough.Device{
			Address: device.Address, ID: deviceID(device), HasGroup: device.IOMMUGroup >= 0,
			IsDisplay: strings.HasPrefix(bare(device.Class), displayClass),
		}
	}
	return all
}

// passthrough adds what a host lacks before machines can have its devices: one check, so that its commands need one reboot. Without an IOMMU
// no machine can have a device, which is a finding of the given result; a driver of the host is a warning, as Proxmox VE often takes a device
// from it when the machine starts.
func (s *collector) passthrough(check, host string, noIOMMU Result, facts Reading[passthrough.Facts], devices []pve.PCIDevice, wanted []string) {
	if facts.Err != nil {
		s.unread(check, "the status of "+host, facts.Err)
		return
	}
	lack := passthrough.Of(host, facts.Value, functions(devices), wanted)
	if !lack.IsEmpty() {
		result := Warn
		if lack.HasNoIOMMU() {
			result = noIOMMU
		}
		s.add(Check{Name: check, Result: result, Sentence: lack.String(), Remedy: byHand(host), Commands: lack.Commands()})
	}
	s.driversUnread(check, host, facts.Value, devices, wanted)
}

// driversUnread warns if it is not known which driver has a display that a machine is to have.
func (s *collector) driversUnread(check, host string, facts passthrough.Facts, devices []pve.PCIDevice, wanted []string) {
	if facts.Report.Drivers != nil {
		return
	}
	reason := "its report does not list them"
	if facts.ReportErr != nil {
		reason = inOneLine(facts.ReportErr)
	}
	for _, address := range wanted {
		if device, there := deviceAt(devices, address); there && strings.HasPrefix(bare(device.Class), displayClass) {
			s.warn(check, fmt.Sprintf("look with `lspci -nnk` on %s: its driver must be %s, or none", host, passthrough.VFIO),
				"which driver has PCI %s on %s cannot be read (%s)", address, host, reason)
		}
	}
}

// asksForPassthrough reports whether a host has to be asked for its report about passthrough, which takes some seconds.
func asksForPassthrough(devices []pve.PCIDevice, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(address string) bool {
		device, there := deviceAt(devices, address)
		return there && (device.IOMMUGroup < 0 || strings.HasPrefix(bare(device.Class), displayClass))
	})
}
