package inventory

import (
	"math"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// The methods Numbers return the limits of Proxmox VE and the provider, which no tag repeats.

// Numbers of a network.
func (Network) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vlan": numberOf(limits.VLAN), "mtu": mtu()}
}

// Numbers of a template.
func (Template) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vmid": numberOf(limits.VMID)}
}

// Numbers of a size.
func (Size) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{
		"cores": numberOf(limits.Cores), "memoryMiB": numberOf(limits.MemoryMiB), "diskGiB": numberOf(limits.DiskGiB),
	}
}

// Numbers of a node.
func (Node) Numbers() map[string]strictyaml.Number {
	sockets := numberOf(limits.Sockets)
	sockets.Default = limits.Sockets.Min
	return map[string]strictyaml.Number{
		"vmid":      numberOf(limits.VMID),
		"sockets":   sockets,
		"dataDisks": {Max: hardware.MaxDataDisks},
		"networks":  {Max: hardware.MaxNICs},
		"gpus":      {Max: hardware.MaxGPUs},
	}
}

// Numbers of a data disk.
func (DataDisk) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"sizeGiB": numberOf(limits.DiskGiB)}
}

// Numbers of a network card.
func (NIC) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vlan": numberOf(limits.VLAN), "mtu": mtu()}
}

func numberOf(r limits.Range) strictyaml.Number {
	if r.Max == math.MaxInt {
		return strictyaml.Number{Min: r.Min}
	}
	return strictyaml.Number{Min: r.Min, Max: r.Max}
}

func mtu() strictyaml.Number {
	number := numberOf(limits.MTU)
	number.Default = hardware.MTU
	return number
}
