package lab

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
)

// reservations are the DHCP reservations that `addressing: dhcp` requires. They are read from the inventory at each start of
// a machine, so that a new node gets its own. The zero value has none.
type reservations struct {
	dir     string
	network netip.Prefix
}

// leases returns the addresses that are reserved for a machine's network cards.
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
