package hosts

import (
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// sized is an interface with its MTU, at its place in the file.
type sized struct {
	mtu int
	at  *strictyaml.Path
}

func sizedOf(on Addressed, at *strictyaml.Path) sized {
	if on.MTU == 0 {
		return sized{limits.DeviceMTU, at}
	}
	return sized{on.MTU, at}
}

// mtus checks that no interface of a host has a larger MTU than one that it is made of, if the file names that, too. Proxmox VE refuses such an
// interface (pve-common, PVE/Network/Interfaces.pm, check_mtu). Cards and bonds, which no file names, get the MTU that is needed.
func (n networkChecker) mtus(network Network, at *strictyaml.Path) {
	named := map[string]sized{}
	for b, bridge := range network.Bridges {
		named[bridge.Name] = sizedOf(bridge.Addressed, at.Key("bridges").Index(b))
	}
	for v, vlan := range network.VLANs {
		named[vlan.Name] = sizedOf(vlan.Addressed, at.Key("vlans").Index(v))
	}
	carries := func(below string, on Addressed, at *strictyaml.Path) {
		carrier, isNamed := named[below]
		if dot := strings.LastIndex(below, "."); !isNamed && dot > 0 { // a port that is a VLAN by its name alone
			carrier, isNamed = named[below[:dot]]
		}
		if isNamed && carrier.mtu < on.MTU && limits.HostMTU.Contains(on.MTU) {
			n.report(at.Key("mtu"), fault{
				What: "is larger than that of " + carrier.at.String(), Rule: "an interface has at most the MTU of what it is made of, here " + strconv.Itoa(carrier.mtu),
				Got: strconv.Itoa(on.MTU), Do: "lower it, or raise that of the other one",
			})
		}
	}
	for b, bridge := range network.Bridges {
		for _, port := range bridge.Ports {
			if port != bridge.Name {
				carries(port, bridge.Addressed, at.Key("bridges").Index(b))
			}
		}
	}
	for v, vlan := range network.VLANs {
		if vlan.Device != vlan.Name {
			carries(vlan.Device, vlan.Addressed, at.Key("vlans").Index(v))
		}
	}
}
