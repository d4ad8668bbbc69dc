// Package network is the network of the nodes: their active interfaces and the staged ones, which a reload activates
// (pve-manager API2/Network.pm, pve-common INotify.pm).
//
// Its lock is held during permission checks, but not during other calls to other parts.
package network

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// iface is a network interface of a node, with the field names of the API. All values are strings.
type iface map[string]string

// network is the content of a node's /etc/network/interfaces, now and after a reload.
type network struct {
	Active map[string]iface `json:"active"`
	// Staged is nil without changes.
	Staged map[string]iface `json:"staged,omitempty"`
}

// cards are the network cards that each host has beside the ports of its bridges. Proxmox VE lists all of them (pve-common
// Network/Interfaces.pm, __read_etc_network_interfaces).
var cards = []string{"eno1", "eno2", "eno3", "eno4"}

func newCard(name string) iface {
	return iface{"iface": name, "type": "eth", "method": "manual", "method6": "manual"}
}

func newNetwork(host hardware.Host) *network {
	n := &network{Active: map[string]iface{}}

	for _, name := range cards {
		n.Active[name] = newCard(name)
	}

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
			n.Active[port] = newCard(port)
		}
	}

	return n
}

// current returns what requests see: the staged interfaces if there are any (pve-common INotify.pm, read_file).
func (n *network) current() map[string]iface {
	if n.Staged != nil {
		return n.Staged
	}

	return n.Active
}

// setCIDR sets an address. suffix is "" for IPv4 and "6" for IPv6 (API2/Network.pm, map_cidr_to_address_netmask).
func (i iface) setCIDR(suffix, cidr string) {
	i["cidr"+suffix] = cidr

	if prefix, err := netip.ParsePrefix(cidr); err == nil {
		i["address"+suffix] = prefix.Addr().String()
		i["netmask"+suffix] = strconv.Itoa(prefix.Bits())
		i["method"+suffix] = "static"
	}
}

func (i iface) isBridge() bool { return i["type"] == "bridge" }

// shownInterface is an interface in the API: flags are numbers, VLAN IDs and MTUs strings.
type shownInterface struct {
	Name      string   `json:"iface"`
	Type      string   `json:"type"`
	Method    string   `json:"method"`
	Method6   string   `json:"method6"`
	Families  []string `json:"families"`
	Priority  int      `json:"priority"`
	Active    int      `json:"active,omitempty"`
	Exists    int      `json:"exists,omitempty"`
	Autostart int      `json:"autostart,omitempty"`
	Address   string   `json:"address,omitempty"`
	Netmask   string   `json:"netmask,omitempty"`
	CIDR      string   `json:"cidr,omitempty"`
	Gateway   string   `json:"gateway,omitempty"`
	Address6  string   `json:"address6,omitempty"`
	Netmask6  string   `json:"netmask6,omitempty"`
	CIDR6     string   `json:"cidr6,omitempty"`
	Gateway6  string   `json:"gateway6,omitempty"`
	MTU       string   `json:"mtu,omitempty"`
	Comments  string   `json:"comments,omitempty"`

	BridgePorts     string `json:"bridge_ports,omitempty"`
	BridgeSTP       string `json:"bridge_stp,omitempty"`
	BridgeFD        string `json:"bridge_fd,omitempty"`
	BridgeVLANAware int    `json:"bridge_vlan_aware,omitempty"`
	BridgeVIDs      string `json:"bridge_vids,omitempty"`

	Slaves   string `json:"slaves,omitempty"`
	BondMode string `json:"bond_mode,omitempty"`

	VLANID     string `json:"vlan-id,omitempty"`
	VLANDevice string `json:"vlan-raw-device,omitempty"`
}

// show returns the interface in the format of the API. Its priority is its position in the file.
func (i iface) show(priority int) shownInterface {
	families := []string{}

	for _, suffix := range []string{"", "6"} {
		if i["address"+suffix] != "" {
			families = append(families, "inet"+suffix)
		}
	}

	if len(families) == 0 {
		families = append(families, "inet")
	}

	return shownInterface{
		Name: i["iface"], Type: i["type"], Method: i["method"], Method6: i["method6"], Families: families,
		Priority: priority, Active: 1, Exists: api.Flag(i["type"] == "eth"), Autostart: api.Flag(i["autostart"] == "1"),
		Address: i["address"], Netmask: i["netmask"], CIDR: i["cidr"], Gateway: i["gateway"], Address6: i["address6"],
		Netmask6: i["netmask6"], CIDR6: i["cidr6"], Gateway6: i["gateway6"], MTU: i["mtu"], Comments: i["comments"],
		BridgePorts: i["bridge_ports"], BridgeSTP: i["bridge_stp"], BridgeFD: i["bridge_fd"],
		BridgeVLANAware: api.Flag(i["bridge_vlan_aware"] == "1"), BridgeVIDs: i["bridge_vids"], Slaves: i["slaves"],
		BondMode: i["bond_mode"], VLANID: i["vlan-id"], VLANDevice: i["vlan-raw-device"],
	}
}

// Names that contain the number of a VLAN; those with a dot also contain its device.
var dottedVLAN, numberedVLAN = regexp.MustCompile(`^(\S+)\.(\d+)$`), regexp.MustCompile(`^vlan(\d+)$`)

// setVLAN derives the device and the number of a VLAN from its name, which takes precedence over parameters (INotify.pm,
// __read_etc_network_interfaces and __write_etc_network_interfaces).
func (i iface) setVLAN(name string) error {
	dotted, numbered := dottedVLAN.FindStringSubmatch(name), numberedVLAN.FindStringSubmatch(name)

	switch {
	case dotted != nil:
		i["vlan-raw-device"], i["vlan-id"] = dotted[1], dotted[2]
	case i["vlan-raw-device"] == "":
		return errors.New("missing vlan-raw-device option")
	case numbered != nil:
		i["vlan-id"] = numbered[1]
	case i["vlan-id"] == "":
		return errors.New("missing vlan-id option")
	}

	if id, err := strconv.Atoi(i["vlan-id"]); err != nil || id > limits.VLAN.Max {
		return fmt.Errorf("vlan '%s' - vlan-id %s should be <= %d", name, i["vlan-id"], limits.VLAN.Max)
	}

	return nil
}

// adopt adds missing interfaces.
func (n *network) adopt(fresh *network) {
	for name, i := range fresh.Active {
		for _, known := range []map[string]iface{n.Active, n.Staged} {
			if _, ok := known[name]; !ok && known != nil {
				known[name] = maps.Clone(i)
			}
		}
	}
}
