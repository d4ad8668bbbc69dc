package pve

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// NetworkPlan is what has to be staged on a host.
type NetworkPlan struct {
	// Create, Change and Delete are the names of interfaces.
	Create, Change, Delete []string
	// Raise are the MTUs of cards and bonds that are raised for what is made of them.
	Raise []RaisedMTU
}

// IsEmpty reports whether nothing has to be staged.
func (p NetworkPlan) IsEmpty() bool {
	return len(p.Create)+len(p.Change)+len(p.Delete)+len(p.Raise) == 0
}

// String returns the plan in words: the MTU of eno2 is raised to 9000, vmbr1 is created, vmbr0 is changed.
func (p NetworkPlan) String() string {
	var parts []string
	for _, one := range p.Raise {
		parts = append(parts, fmt.Sprintf("the MTU of %s is raised to %d", one.Name, one.MTU))
	}
	for _, group := range []struct {
		names []string
		what  string
	}{{p.Create, "created"}, {p.Change, "changed"}, {p.Delete, "deleted"}} {
		for _, name := range group.names {
			parts = append(parts, name+" is "+group.what)
		}
	}
	return strings.Join(parts, ", ")
}

// names returns all interfaces of the plan, sorted.
func (p NetworkPlan) names() []string {
	names := slices.Concat(p.Create, p.Change, p.Delete)
	for _, one := range p.Raise {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// planNetwork compares interfaces with what is wanted. Those that the stack has created and does not want any more are deleted; others are
// never deleted.
func planNetwork(present []NetworkInterface, wanted hostspec.Network) NetworkPlan {
	plan := NetworkPlan{Raise: planRaises(present, wanted)}
	for _, want := range wanted.Interfaces {
		have, there := interfaceNamed(present, want.Name)
		switch {
		case !there:
			plan.Create = append(plan.Create, want.Name)
		case len(have.Differences(commented(present, wanted, want))) > 0:
			plan.Change = append(plan.Change, want.Name)
		}
	}
	for _, one := range present {
		if _, isWanted := wanted.Named(one.Name); !isWanted && one.isMarked(wanted.Mark()) {
			plan.Delete = append(plan.Delete, one.Name)
		}
	}
	return plan
}

// commented returns a wanted interface with its whole comment. If the stack creates or has created it, that is the comment of the inventory and the
// mark of the stack. Otherwise it is the comment of the inventory or, without one, the present comment.
func commented(present []NetworkInterface, wanted hostspec.Network, want hostspec.Interface) hostspec.Interface {
	have, there := interfaceNamed(present, want.Name)
	switch {
	case !there || have.isMarked(wanted.Mark()):
		want.Comment = strings.TrimSpace(want.Comment + "\n" + wanted.Mark())
	case want.Comment == "":
		want.Comment = strings.TrimSpace(have.Comments)
	}
	return want
}

// isMarked reports whether the stack of a mark has created the interface.
func (n NetworkInterface) isMarked(mark string) bool {
	return slices.Contains(strings.Split(n.Comments, "\n"), mark)
}

// NetworkInterface is an interface of a host, with what is staged for it.
type NetworkInterface struct {
	Name        string `json:"iface"`
	Type        string `json:"type"`
	Method      string `json:"method"`
	Method6     string `json:"method6"`
	CIDR        string `json:"cidr"`
	CIDR6       string `json:"cidr6"`
	Gateway     string `json:"gateway"`
	Gateway6    string `json:"gateway6"`
	MTU         string `json:"mtu"`
	Comments    string `json:"comments"`
	Autostart   Flag   `json:"autostart"`
	BridgePorts string `json:"bridge_ports"`
	VLANAware   Flag   `json:"bridge_vlan_aware"`
	VLANDevice  string `json:"vlan-raw-device"`
	VLANID      string `json:"vlan-id"`
	Slaves      string `json:"slaves"`
}

// Differences returns what differs from the wanted interface: the present and the wanted values by the names of the API, sorted by name.
func (n NetworkInterface) Differences(want hostspec.Interface) []string {
	have := map[string]string{
		"type": n.Type, "cidr": n.CIDR, "cidr6": n.CIDR6, "gateway": n.Gateway, "gateway6": n.Gateway6, "mtu": n.MTU,
		"comments": strings.TrimSpace(n.Comments), "bridge_ports": strings.Join(strings.Fields(n.BridgePorts), " "),
		"autostart": flagText(n.Autostart), "bridge_vlan_aware": flagText(n.VLANAware),
	}
	params := want.Params()
	if want.IsVLAN() {
		have["vlan-raw-device"], have["vlan-id"] = n.VLANDevice, n.VLANID
		params["vlan-raw-device"], params["vlan-id"] = want.Device, fmt.Sprint(want.Tag)
	}
	var differences []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if have[name] != params[name] {
			differences = append(differences, fmt.Sprintf("%s: %s instead of %s", name, orNone(have[name]), orNone(params[name])))
		}
	}
	return differences
}

func flagText(flag Flag) string {
	if flag {
		return "1"
	}
	return ""
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// has reports whether the host has an address on the interface.
func (n NetworkInterface) has(address netip.Addr) bool {
	for _, text := range []string{n.CIDR, n.CIDR6} {
		if prefix, err := netip.ParsePrefix(text); err == nil && prefix.Addr() == address {
			return true
		}
	}
	return false
}

// below returns the interfaces that an interface is made of: ports, slaves, and the device of a VLAN.
func (n NetworkInterface) below() []string {
	below := slices.Concat(strings.Fields(n.BridgePorts), strings.Fields(n.Slaves))
	if device, _, dotted := strings.Cut(n.Name, "."); dotted && n.VLANDevice == "" {
		below = append(below, device)
	}
	if n.VLANDevice != "" {
		below = append(below, n.VLANDevice)
	}
	return below
}

func interfaceNamed(present []NetworkInterface, name string) (NetworkInterface, bool) {
	at := slices.IndexFunc(present, func(i NetworkInterface) bool { return i.Name == name })
	if at < 0 {
		return NetworkInterface{}, false
	}
	return present[at], true
}

// wayToAPI returns the interfaces by which the API of a host is reached, with the reason for each: those that have one of its addresses or
// a default route, and everything below them.
func wayToAPI(present []NetworkInterface, addresses []netip.Addr) map[string]string {
	way := map[string]string{}
	var walk func(name, reason string)
	walk = func(name, reason string) {
		if _, seen := way[name]; seen {
			return
		}
		way[name] = reason
		if one, there := interfaceNamed(present, name); there {
			for _, below := range one.below() {
				walk(below, name+" needs it, and "+reason)
			}
		}
	}
	for _, one := range present {
		for _, address := range addresses {
			if one.has(address) {
				walk(one.Name, "the API is reached at "+address.String()+" on "+one.Name)
			}
		}
		if one.Gateway != "" || one.Gateway6 != "" {
			walk(one.Name, one.Name+" has the default route")
		}
	}
	return way
}

// cutOff returns a sentence for each interface of the way to the API that a plan would touch without permission.
func (p NetworkPlan) cutOff(way map[string]string, wanted hostspec.Network, allowed []string) []string {
	var sentences []string
	touches := func(name string) {
		reason, onWay := way[name]
		if onWay && !slices.Contains(allowed, wanted.Node+"/"+name) {
			sentences = append(sentences, fmt.Sprintf("%s is on the way to the API (%s)", name, reason))
		}
	}
	for _, name := range p.names() {
		touches(name)
		if want, isWanted := wanted.Named(name); isWanted {
			for _, port := range want.Ports {
				if _, own := way[name]; !own { // a port that is taken away from the way
					touches(port)
				}
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(sentences)))
}
