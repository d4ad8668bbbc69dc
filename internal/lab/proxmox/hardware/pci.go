package hardware

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var pciFunction = regexp.MustCompile(`\.[0-9a-f]$`)

// DevicesAt returns the addresses of the devices at a path. Semicolons separate several parts; a part without a function
// means all functions of the slot (qemu-server QemuServer/PCI.pm, parse_hostpci).
func (h Host) DevicesAt(path string) ([]string, error) {
	var addresses []string

	for part := range strings.SplitSeq(path, ";") {
		if strings.Count(part, ":") == 1 {
			part = "0000:" + part
		}

		found := false

		for _, d := range h.PCI {
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

// Device returns the device at an address. A slot without a function means its first function.
func (h Host) Device(address string) (PCIDevice, error) {
	if !pciFunction.MatchString(address) {
		address += ".0"
	}

	at := slices.IndexFunc(h.PCI, func(d PCIDevice) bool { return d.Address == address })
	if at < 0 {
		return PCIDevice{}, fmt.Errorf("pci device '%s' not found", address)
	}

	return h.PCI[at], nil
}

// BareHex returns a hexadecimal number without its leading 0x.
func BareHex(id string) string { return strings.ReplaceAll(id, "0x", "") }
