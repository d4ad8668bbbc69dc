package systems

import (
	"math"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// The methods Numbers return the limits of Proxmox VE and the provider, which no tag repeats.

// Numbers of a network.
func (Network) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vlan": numberOf(limits.VLAN, 0)}
}

// Numbers of an image.
func (Image) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vmid": numberOf(limits.VMID, 0)}
}

// Numbers of a system.
func (System) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{
		"vmid":      numberOf(limits.VMID, 0),
		"cores":     numberOf(limits.Cores, defaultCores),
		"memoryMiB": numberOf(limits.MemoryMiB, defaultMemoryMiB),
		"diskGiB":   numberOf(limits.DiskGiB, defaultDiskGiB),
		"networks":  {Min: 1, Max: hardware.MaxNICs},
	}
}

// Numbers of a virtual machine.
func (VirtualMachine) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"dataDisks": {Max: hardware.MaxDataDisks}}
}

// Numbers of a container, of which the provider allows less than of a machine. Its swap begins at 0, which is no bound of a number here.
func (Container) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{
		"swapMiB": {Max: limits.SwapMiB.Max}, "cores": numberOf(limits.ContainerCores, defaultCores), "networks": {Min: 1, Max: limits.ContainerNICs},
	}
}

// Numbers of a data disk.
func (DataDisk) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"sizeGiB": numberOf(limits.DiskGiB, 0)}
}

// Numbers of a network card.
func (NIC) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vlan": numberOf(limits.VLAN, 0)}
}

func numberOf(r limits.Range, fallback int) strictyaml.Number {
	if r.Max == math.MaxInt {
		return strictyaml.Number{Min: r.Min, Default: fallback}
	}
	return strictyaml.Number{Min: r.Min, Max: r.Max, Default: fallback}
}
