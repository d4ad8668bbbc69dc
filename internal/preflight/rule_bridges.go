package preflight

import (
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

func checkBridges(s *sheet, inv *inventory.Inventory, found Snapshot) {
	mark := len(s.checks)
	var sound []string
	for _, card := range cards(inv) {
		if found.status(card.host) != online {
			continue
		}
		bridges := found.Hosts[card.host].Bridges
		if bridges.Err != nil {
			s.unread("bridge", "the bridges of "+card.host, bridges.Err)
			return
		}
		if checkBridge(s, card, bridges.Value) {
			sound = append(sound, card.String())
		}
	}
	if s.sound(mark) && len(sound) > 0 {
		s.ok("bridge", "%s", areThere(sound))
	}
}

// checkBridge reports whether a card can be attached. A tag on a bridge that is not VLAN-aware is carried by a VLAN of the
// bridge's port, and cannot be without one (pve-common, src/PVE/Network.pm, activate_bridge_vlan).
func checkBridge(s *sheet, c card, bridges []pve.Bridge) bool {
	at := slices.IndexFunc(bridges, func(bridge pve.Bridge) bool { return bridge.Name == c.bridge })
	if at < 0 {
		s.fail("bridge", "correct bridge in the inventory, or make the bridge in Proxmox VE", "bridge %s is not on %s, which has %s", c.bridge, c.host, bridgeList(bridges))
		return false
	}
	bridge := bridges[at]
	// qemu-server does not start a machine whose card has more than the bridge (QemuServer.pm, print_netdevice_full).
	if mtu, err := bridge.MTU.Int64(); err == nil && int64(c.mtu) > mtu {
		s.fail("bridge", fmt.Sprintf("set mtu to %d, or raise it on the bridge and its ports", mtu), "bridge %s on %s has an MTU of %d, the inventory asks for %d", c.bridge, c.host, mtu, c.mtu)
		return false
	}
	if c.vlan == 0 || bridge.Type != "bridge" || bool(bridge.VLANAware) {
		return true
	}
	aware := fmt.Sprintf("as root on %[1]s: set bridge-vlan-aware yes for %[2]s in /etc/network/interfaces, then ifreload -a", c.host, c.bridge)
	if bridge.Ports == "" {
		s.fail("bridge", aware, "bridge %s on %s is not VLAN-aware and has no port, so it cannot carry VLAN %d", c.bridge, c.host, c.vlan)
		return false
	}
	s.warn("bridge", aware, "bridge %s on %s is not VLAN-aware: Proxmox VE makes a bridge of its own for VLAN %d", c.bridge, c.host, c.vlan)
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

// String is the bridge with its tag and its host.
func (c card) String() string {
	if c.vlan == 0 {
		return fmt.Sprintf("bridge %s on %s", c.bridge, c.host)
	}
	return fmt.Sprintf("bridge %s with VLAN %d on %s", c.bridge, c.vlan, c.host)
}

func areThere(things []string) string {
	if len(things) == 1 {
		return things[0] + " is there"
	}
	return listed(things) + " are there"
}
