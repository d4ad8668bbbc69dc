package hosts

import "strconv"

// complete sets defaults that depend on other values. Constant defaults are in the tags of the types.
func (i *Inventory) complete() {
	for at := range i.File.Hosts {
		vlans := i.File.Hosts[at].Network.VLANs
		for v := range vlans {
			if vlans[v].Name == "" && vlans[v].Device != "" && vlans[v].Tag != 0 {
				vlans[v].Name = vlans[v].Device + "." + strconv.Itoa(vlans[v].Tag)
			}
		}
	}
}
