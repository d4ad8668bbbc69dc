package hosts

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// networks checks the interfaces of each host.
func (c *checker) networks() {
	for i, host := range c.inv.File.Hosts {
		at := key("hosts").Index(i).Key("network")
		n := networkChecker{checker: c, names: map[string]*strictyaml.Path{}, ports: map[string]*strictyaml.Path{}, routes: map[bool]*strictyaml.Path{}}
		for b, bridge := range host.Network.Bridges {
			n.bridge(bridge, at.Key("bridges").Index(b))
		}
		for v, vlan := range host.Network.VLANs {
			n.vlan(vlan, at.Key("vlans").Index(v))
		}
		n.overlaps(host.Network, at)
		n.mtus(host.Network, at)
	}
}

// networkChecker checks the interfaces of one host.
type networkChecker struct {
	*checker

	names, ports map[string]*strictyaml.Path
	routes       map[bool]*strictyaml.Path // the default route of IPv4, and of IPv6
}

func (n networkChecker) bridge(bridge Bridge, at *strictyaml.Path) {
	n.name(limits.Interface, bridge.Name, at.Key("name"))
	n.unique(n.names, bridge.Name, at.Key("name"))
	if strings.Contains(bridge.Name, ".") {
		n.report(at.Key("name"), fault{What: "is the name of a VLAN", Rule: "Proxmox VE takes what is behind a dot for a tag", Got: bridge.Name, Do: "choose a name without a dot"})
	}
	for p, port := range bridge.Ports {
		place := at.Key("ports").Index(p)
		n.name(limits.Interface, port, place)
		if first := n.ports[port]; first != nil && port != "" {
			n.report(place, fault{What: "is at " + first.String() + " too", Rule: "an interface is a port of one bridge", Got: port, Do: "remove one of the two"})
		} else {
			n.ports[port] = place
		}
		if port == bridge.Name && port != "" {
			n.report(place, fault{What: "is the bridge itself", Got: port, Do: "name an interface of the host"})
		}
	}
	n.addressed(bridge.Addressed, at)
}

func (n networkChecker) vlan(vlan VLAN, at *strictyaml.Path) {
	n.name(limits.Interface, vlan.Device, at.Key("device"))
	n.unique(n.names, vlan.Name, at.Key("name"))
	tag := strconv.Itoa(vlan.Tag)
	device, number, dotted := strings.Cut(vlan.Name, ".")
	own, another := vlan.Device+"."+tag, "choose another name"
	if !limits.Interface.Matches(own) { // such as one on eno1.20
		another = "write a name such as vlan" + tag
	}
	switch {
	case vlan.Device == "" || vlan.Tag == 0:
		n.name(limits.Interface, vlan.Name, at.Key("name"))
	case !limits.Interface.Matches(vlan.Name):
		n.hasForm(limits.Interface, vlan.Name, at.Key("name"), another)
	case dotted && (device != vlan.Device || number != tag):
		if limits.Interface.Matches(own) {
			another = "write " + own + ", or a name such as vlan" + tag
		}
		n.report(at.Key("name"), fault{What: "names another device or tag", Rule: "Proxmox VE takes both from a name with a dot", Got: vlan.Name, Do: another})
	case strings.HasPrefix(vlan.Name, "vlan") && vlan.Name != "vlan"+tag && isNumber(strings.TrimPrefix(vlan.Name, "vlan")):
		n.report(at.Key("name"), fault{What: "names another tag", Rule: "Proxmox VE takes the tag from the name vlanTAG", Got: vlan.Name, Do: "write vlan" + tag})
	}
	n.addressed(vlan.Addressed, at)
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// addressed checks what a host has on an interface.
func (n networkChecker) addressed(on Addressed, at *strictyaml.Path) {
	n.address(on.Address, false, at.Key("address"))
	n.address(on.Address6, true, at.Key("address6"))
	n.gateway(on.Gateway, on.Address, false, at.Key("gateway"))
	n.gateway(on.Gateway6, on.Address6, true, at.Key("gateway6"))
	if on.MTU != 0 && !limits.HostMTU.Contains(on.MTU) {
		n.report(at.Key("mtu"), fault{What: "is out of range", Rule: limits.HostMTU.String(), Got: strconv.Itoa(on.MTU), Do: "choose one within, or remove the key"})
	}
	if strings.ContainsAny(on.Comment, "\n\r") {
		n.report(at.Key("comment"), fault{What: "has more than one line", Do: "write it in one line"})
	}
}

func (n networkChecker) address(address netip.Prefix, wants6 bool, at *strictyaml.Path) {
	if !address.IsValid() {
		return
	}
	problem := fault{Got: address.String(), Do: "choose another address"}
	switch {
	case address.Addr().Is6() != wants6:
		problem.What, problem.Do = "is an address of the other IP family", "write it under "+otherKey(wants6, "address")
	case address.Addr().IsLoopback() || address.Addr().IsMulticast() || address.Addr().IsUnspecified():
		problem.What = "is no address of a host"
	case address.Addr() == address.Masked().Addr() && address.Bits() < address.Addr().BitLen()-1:
		problem.What, problem.Rule = "is the address of the network itself", "a host has one in it"
	default:
		return
	}
	n.report(at, problem)
}

func (n networkChecker) gateway(gateway netip.Addr, address netip.Prefix, wants6 bool, at *strictyaml.Path) {
	if !gateway.IsValid() {
		return
	}
	if first := n.routes[wants6]; first != nil {
		n.report(at, fault{What: "is a second default route", Rule: "the first is " + first.String(), Got: gateway.String(), Do: "remove one of the two"})
	}
	n.routes[wants6] = at
	problem := fault{Got: gateway.String()}
	switch {
	case gateway.Is6() != wants6:
		problem.What, problem.Do = "is an address of the other IP family", "write it under "+otherKey(wants6, "gateway")
	case !address.IsValid():
		problem.What, problem.Rule, problem.Do = "is reached by no address", "the host has an address on the same interface", "give the address, too"
	case gateway.IsLinkLocalUnicast() && wants6:
		return
	case !address.Masked().Contains(gateway):
		problem.What, problem.Rule, problem.Do = "lies outside the network of its interface", "a gateway is in "+address.Masked().String(), "correct one of the two"
	case gateway == address.Addr():
		problem.What, problem.Do = "is the host's own address", "name the router"
	default:
		return
	}
	n.report(at, problem)
}

// otherKey is the key for the other IP family.
func otherKey(is6 bool, key string) string {
	if is6 {
		return key
	}
	return key + "6"
}

// overlaps checks that no two interfaces of a host are in the same network.
func (n networkChecker) overlaps(network Network, at *strictyaml.Path) {
	type place struct {
		prefix netip.Prefix
		at     *strictyaml.Path
	}
	var places []place
	add := func(on Addressed, at *strictyaml.Path) {
		for _, one := range []place{{on.Address, at.Key("address")}, {on.Address6, at.Key("address6")}} {
			if !one.prefix.IsValid() {
				continue
			}
			for _, other := range places {
				if other.prefix.Overlaps(one.prefix) {
					n.report(one.at, fault{What: "is in the network of " + other.at.String(), Rule: "a host has one interface in a network", Got: one.prefix.String(), Do: "choose another network"})
					break
				}
			}
			places = append(places, one)
		}
	}
	for b, bridge := range network.Bridges {
		add(bridge.Addressed, at.Key("bridges").Index(b))
	}
	for v, vlan := range network.VLANs {
		add(vlan.Addressed, at.Key("vlans").Index(v))
	}
}
