package hosts

import (
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// The methods Numbers return the limits of Proxmox VE, which no tag repeats.

// Numbers of an interface in a VLAN.
func (VLAN) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"tag": {Min: limits.VLAN.Min, Max: limits.VLAN.Max}}
}

// Numbers of a range of VMIDs, whose upper end is not in it.
func (VMIDRange) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{
		"lower": {Min: limits.VMID.Min, Max: limits.VMID.Max, Default: limits.VMID.Min},
		"upper": {Min: limits.VMID.Min + 1, Max: limits.VMID.Max + 1},
	}
}
