package discovery

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// card is a network card as Proxmox VE has it.
type card struct {
	mac, bridge string
	vlan, mtu   int
}

// cardAt reads a network card, as in virtio=BC:24:11:00:00:65,bridge=vmbr0,tag=20 (qemu-server, QemuServer.pm, $net_fmt).
func (m Machine) cardAt(number int) card {
	var found card
	for i, setting := range strings.Split(m.Config[fmt.Sprintf("net%d", number)], ",") {
		name, value, _ := strings.Cut(setting, "=")
		switch {
		case i == 0, name == "macaddr":
			found.mac = value
		case name == "bridge":
			found.bridge = value
		case name == "tag":
			found.vlan = integer(value)
		case name == "mtu":
			found.mtu = integer(value)
		}
	}
	return found
}

// card is the first network card of the node's machine.
func (n Node) card() card { return n.cardAt(0) }

// cardAt returns a network card with the MTU that it runs with: Proxmox VE may leave that to the bridge, and Talos may set it.
func (n Node) cardAt(number int) card {
	found := n.Machine.cardAt(number)
	if runs := n.runs(found.mac); found.mtu < limits.MTU.Min && runs.MTU != hardware.MTU {
		found.mtu = runs.MTU
	} else if found.mtu < limits.MTU.Min {
		found.mtu = 0
	}
	return found
}

// runs returns a network card as the node has it; an empty one if the node has none with this MAC.
func (n Node) runs(mac string) nodeops.Card {
	at := slices.IndexFunc(n.Cards, func(c nodeops.Card) bool { return strings.EqualFold(c.MAC.String(), mac) })
	if at < 0 {
		return nodeops.Card{}
	}
	return n.Cards[at]
}

// furtherCards returns the network cards beside the first, and the addresses for which an inventory has no room. A card is not given the
// address of the Kubernetes API, which moves from node to node.
func (n Node) furtherCards(endpoint string) (keys []nicKeys, more []netip.Prefix) {
	for i := 1; i <= hardware.MaxNICs; i++ {
		one := n.cardAt(i)
		if one.mac == "" {
			continue
		}
		key := nicKeys{Bridge: one.bridge, VLAN: one.vlan, MTU: one.mtu, MAC: one.mac}
		for _, address := range n.runs(one.mac).Addresses {
			switch {
			case address.Addr().String() == endpoint:
			case key.Address == "":
				key.Address = address.String()
			default:
				more = append(more, address)
			}
		}
		keys = append(keys, key)
	}
	return keys, more
}
