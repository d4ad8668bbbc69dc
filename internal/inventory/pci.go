package inventory

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// BDF is the address of a PCI device on its host: domain:bus:device.function, in lower case.
type BDF string

// PCIID names a model of PCI device: vendor:device, in lower case.
type PCIID string

// The patterns of map in POST /cluster/mapping/pci of Proxmox VE, with the function required: a mapping of a whole slot would
// not have a single device ID.
var (
	bdfText   = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$`)
	pciIDText = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`)
)

// UnmarshalText reads 0000:01:00.0.
func (b *BDF) UnmarshalText(text []byte) error {
	address := strings.ToLower(string(text))
	if bdfText.MatchString(address) {
		*b = BDF(address)
		return nil
	}
	fault := &strictyaml.Fault{
		What: "is not a PCI address", Rule: "domain:bus:device.function",
		Do: "write it as lspci -D does, like 0000:01:00.0",
	}
	for _, guess := range []string{"0000:" + address, address + ".0", "0000:" + address + ".0"} {
		if bdfText.MatchString(guess) {
			fault.Do = fmt.Sprintf("did you mean %s?", guess)
		}
	}
	return fault
}

// UnmarshalText reads 10de:2204.
func (p *PCIID) UnmarshalText(text []byte) error {
	id := strings.ToLower(string(text))
	if !pciIDText.MatchString(id) {
		return &strictyaml.Fault{
			What: "is not a PCI ID", Rule: "vendor:device, four hexadecimal digits each",
			Do: "write it as lspci -n does, like 10de:2204",
		}
	}
	*p = PCIID(id)
	return nil
}

// MappingName returns the name of the resource mapping that is created for one of the node's GPUs with an address, counted from
// 0.
func (n Node) MappingName(gpu int) string { return n.Name + mappingSuffix(gpu) }

func mappingSuffix(gpu int) string { return fmt.Sprintf("-gpu%d", gpu) }
