package preflight

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
)

func checkBridges(s *collector, inv *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	var sound []string
	for _, nic := range nics(inv) {
		if found.status(nic.host) != online {
			continue
		}
		bridges := found.Hosts[nic.host].Bridges
		if bridges.Err != nil {
			s.unread("bridge", "the bridges of "+nic.host, bridges.Err)
			return
		}
		if checkBridge(s, nic, bridges.Value, found.Makers) {
			sound = append(sound, nic.String())
		}
	}
	if s.sound(mark) && len(sound) > 0 {
		s.ok("bridge", "%s", areThere(sound))
	}
}

// checkBridge reports whether a card can be attached. A bridge that is not VLAN-aware carries a tag through a VLAN of its port, and
// cannot without a port (pve-common, src/PVE/Network.pm, activate_bridge_vlan).
func checkBridge(s *collector, n nic, bridges []pve.Bridge, makers Makers) bool {
	at := slices.IndexFunc(bridges, func(bridge pve.Bridge) bool { return bridge.Name == n.bridge })
	if at < 0 {
		s.lacks("bridge", makers.bridgeRemedy(n.bridge, n.host, "correct bridge in the inventory, or make the bridge in Proxmox VE"),
			"bridge %s is not on %s, which has %s", n.bridge, n.host, bridgeList(bridges))
		return false
	}
	bridge := bridges[at]
	// qemu-server does not start a machine whose card has a higher MTU than the bridge (QemuServer.pm, print_netdevice_full).
	if mtu, err := bridge.MTU.Int64(); err == nil && int64(n.mtu) > mtu {
		byHand := fmt.Sprintf("set mtu to %d, or raise it on the bridge and its ports", mtu)
		s.lacks("bridge", makers.bridgeThat(n.bridge, n.host, byHand, func(b hosts.Bridge) bool { return b.MTU >= n.mtu }), "bridge %s on %s has an MTU of %d, the inventory asks for %d", n.bridge, n.host, mtu, n.mtu)
		return false
	}
	if n.vlan == 0 || bridge.Type != "bridge" || bool(bridge.VLANAware) {
		return true
	}
	byHand := fmt.Sprintf("as root on %[1]s: set bridge-vlan-aware yes for %[2]s in /etc/network/interfaces, then ifreload -a", n.host, n.bridge)
	aware := makers.bridgeThat(n.bridge, n.host, byHand, func(b hosts.Bridge) bool { return b.VLANAware })
	if bridge.Ports == "" {
		s.lacks("bridge", aware, "bridge %s on %s is not VLAN-aware and has no port, so it cannot carry VLAN %d", n.bridge, n.host, n.vlan)
		return false
	}
	s.warn("bridge", aware.do, "bridge %s on %s is not VLAN-aware: Proxmox VE makes a bridge of its own for VLAN %d", n.bridge, n.host, n.vlan)
	return false
}

func bridgeList(bridges []pve.Bridge) string {
	var names []string
	for _, bridge := range bridges {
		names = append(names, bridge.Name)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none that the token may use"
	}
	return listed(names)
}

// String returns the bridge with its tag and its host.
func (n nic) String() string {
	if n.vlan == 0 {
		return fmt.Sprintf("bridge %s on %s", n.bridge, n.host)
	}
	return fmt.Sprintf("bridge %s with VLAN %d on %s", n.bridge, n.vlan, n.host)
}

func areThere(things []string) string {
	if len(things) == 1 {
		return things[0] + " is there"
	}
	return listed(things) + " are there"
}
