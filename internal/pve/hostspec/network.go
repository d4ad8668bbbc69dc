package hostspec

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Network is what a stack wants of the network of one host. Interfaces that it does not name stay as they are.
type Network struct {
	// Node is the host's name in Proxmox VE.
	Node string `json:"node"`
	// Owner is the stack's name for its resources. Interfaces that are created get a mark with it.
	Owner string `json:"owner"`
	// Interfaces are the bridges and VLANs, in the order of the inventory.
	Interfaces []Interface `json:"interfaces"`
}

// Interface is a Linux bridge, or a VLAN if it has a Device.
type Interface struct {
	// Name of the interface.
	Name string `json:"name"`
	// Ports of a bridge.
	Ports []string `json:"ports,omitempty"`
	// VLANAware is whether a bridge passes tagged frames to machines.
	VLANAware bool `json:"vlanAware,omitempty"`
	// Device and Tag of a VLAN.
	Device string `json:"device,omitempty"`
	Tag    int    `json:"tag,omitempty"`
	// Address and Address6 of the host on it, with the lengths of their networks; invalid for none.
	Address  netip.Prefix `json:"address,omitzero"`
	Address6 netip.Prefix `json:"address6,omitzero"`
	// Gateway and Gateway6 are default routes; invalid for none.
	Gateway  netip.Addr `json:"gateway,omitzero"`
	Gateway6 netip.Addr `json:"gateway6,omitzero"`
	// MTU in bytes; 0 for the default of the device.
	MTU int `json:"mtu,omitempty"`
	// Comment of the interface.
	Comment string `json:"comment,omitempty"`
}

// IsVLAN reports whether the interface is a VLAN.
func (i Interface) IsVLAN() bool { return i.Device != "" }

// Below returns the interfaces that it is made of: the ports of a bridge, the device of a VLAN.
func (i Interface) Below() []string {
	if i.IsVLAN() {
		return []string{i.Device}
	}
	return i.Ports
}

// ParseNetwork reads a network from the form of [Network.Text].
func ParseNetwork(text string) (n Network, err error) {
	return n, json.Unmarshal([]byte(text), &n)
}

// Text returns the network as JSON.
func (n Network) Text() string { return text(n) }

// Params returns the interface as the parameters of POST and PUT /nodes/{node}/network (pve-manager, PVE/API2/Network.pm). A PUT replaces
// the whole interface there, so all of them are given; empty ones are left out.
func (i Interface) Params() map[string]string {
	params := map[string]string{"type": "bridge", "autostart": "1"}
	if i.IsVLAN() {
		params["type"] = "vlan"
		if !strings.Contains(i.Name, ".") {
			params["vlan-raw-device"], params["vlan-id"] = i.Device, strconv.Itoa(i.Tag)
		}
	} else {
		params["bridge_ports"] = strings.Join(i.Ports, " ")
		if i.VLANAware {
			params["bridge_vlan_aware"] = "1"
		}
	}
	for name, prefix := range map[string]netip.Prefix{"cidr": i.Address, "cidr6": i.Address6} {
		if prefix.IsValid() {
			params[name] = prefix.String()
		}
	}
	for name, address := range map[string]netip.Addr{"gateway": i.Gateway, "gateway6": i.Gateway6} {
		if address.IsValid() {
			params[name] = address.String()
		}
	}
	if i.MTU != 0 {
		params["mtu"] = strconv.Itoa(i.MTU)
	}
	if i.Comment != "" {
		params["comments"] = i.Comment
	}
	if params["bridge_ports"] == "" {
		delete(params, "bridge_ports")
	}
	return params
}

// Mark is the last line of the comment of interfaces that the stack has created. Others are never deleted.
func (n Network) Mark() string { return "Made by em-infra for " + n.Owner + "." }

// Names returns the names of the interfaces with commas between them.
func (n Network) Names() string {
	names := make([]string, len(n.Interfaces))
	for i, one := range n.Interfaces {
		names[i] = one.Name
	}
	return strings.Join(names, ", ")
}

// Named returns the interface of a name.
func (n Network) Named(name string) (Interface, bool) {
	at := slices.IndexFunc(n.Interfaces, func(i Interface) bool { return i.Name == name })
	if at < 0 {
		return Interface{}, false
	}
	return n.Interfaces[at], true
}
