package proxmox

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// iface is a network interface of a node by the names of the API; all its values are strings.
type iface map[string]string

// network is what /etc/network/interfaces of a node says, and what it will say after a reload.
type network struct {
	Active map[string]iface `json:"active"`
	// Staged is nil without changes.
	Staged map[string]iface `json:"staged,omitempty"`
}

func newNetwork(host Host) *network {
	n := &network{Active: map[string]iface{}}

	for _, b := range host.Bridges {
		bridge := iface{
			"iface": b.Name, "type": "bridge", "autostart": "1", "bridge_ports": strings.Join(b.Ports, " "),
			"bridge_stp": "off", "bridge_fd": "0", "method": "manual", "method6": "manual",
		}
		if b.VLANAware {
			bridge["bridge_vlan_aware"] = "1"
		}

		if b.Address.IsValid() {
			bridge.setCIDR("", b.Address.String())
		}

		if b.Gateway.IsValid() {
			bridge["gateway"] = b.Gateway.String()
		}

		n.Active[b.Name] = bridge

		for _, port := range b.Ports {
			n.Active[port] = iface{"iface": port, "type": "eth", "method": "manual", "method6": "manual"}
		}
	}

	return n
}

// current is what requests see: the staged interfaces where there are any (pve-common INotify.pm, read_file).
func (n *network) current() map[string]iface {
	if n.Staged != nil {
		return n.Staged
	}

	return n.Active
}

// stage returns the interfaces for a change.
func (n *network) stage() map[string]iface {
	if n.Staged == nil {
		n.Staged = make(map[string]iface, len(n.Active))
		for name, i := range n.Active {
			n.Staged[name] = maps.Clone(i)
		}
	}

	return n.Staged
}

// setCIDR records an address; suffix is "" for IPv4 and "6" for IPv6 (API2/Network.pm, map_cidr_to_address_netmask).
func (i iface) setCIDR(suffix, cidr string) {
	i["cidr"+suffix] = cidr

	if prefix, err := netip.ParsePrefix(cidr); err == nil {
		i["address"+suffix] = prefix.Addr().String()
		i["netmask"+suffix] = strconv.Itoa(prefix.Bits())
		i["method"+suffix] = "static"
	}
}

func (i iface) isBridge() bool { return i["type"] == "bridge" }

// shown is the interface as the API returns it: flags are numbers, VLAN IDs and MTUs strings.
func (i iface) shown() map[string]any {
	out := map[string]any{}

	for key, value := range i {
		out[key] = value
	}

	for _, flag := range []string{"autostart", "active", "exists", "bridge_vlan_aware"} {
		if n, err := strconv.Atoi(i[flag]); err == nil {
			out[flag] = n
		}
	}

	families := []string{}

	for suffix, family := range map[string]string{"": "inet", "6": "inet6"} {
		if i["address"+suffix] != "" {
			families = append(families, family)
		}
	}

	if len(families) == 0 {
		families = append(families, "inet")
	}

	slices.Sort(families)
	out["families"] = families

	return out
}
