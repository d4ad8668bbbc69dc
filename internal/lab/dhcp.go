package lab

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
)

// reservations are those that `addressing: dhcp` asks the network's owner for. They are read from the inventory whenever
// a machine starts, so that a node that is added finds its own. The zero value has none.
type reservations struct {
	dir     string
	network netip.Prefix
}

// leases are the addresses that are reserved for a machine's network cards.
func (r reservations) leases(macs []net.HardwareAddr) ([]netip.Prefix, error) {
	if r.dir == "" {
		return nil, nil
	}
	inv, err := inventory.Load(r.dir)
	if err != nil {
		return nil, fmt.Errorf("reservations of the inventory: %w", err)
	}
	if inv, err = inv.Rebase(r.network); err != nil {
		return nil, fmt.Errorf("reservations of the inventory: %w", err)
	}
	var leases []netip.Prefix
	for _, mac := range macs {
		for _, node := range inv.Nodes {
			if inv.Cluster.Network.Addressing == inventory.AddressingDHCP && bytes.Equal(node.MAC[:], mac) {
				leases = append(leases, node.Prefix(inv.Cluster))
			}
		}
	}
	return leases, nil
}
