package lab

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
)

// reservations are the DHCP reservations that `addressing: dhcp` requires. They are read from the inventories at each start of
// a machine, so that a new node gets its own. The zero value has none.
type reservations struct {
	// clusters are the folders of the inventories.
	clusters []string
	// lab has the networks that they are moved to.
	lab Description
}

// leases returns the addresses that are reserved for a machine's network cards, also if one of several inventories cannot be read.
func (r reservations) leases(macs []net.HardwareAddr) ([]netip.Prefix, error) {
	var leases []netip.Prefix
	var unread []error
	for _, dir := range r.clusters {
		inv, err := r.moved(dir)
		if err != nil {
			unread = append(unread, fmt.Errorf("reservations of the inventory: %w", err))
			continue
		}
		for _, mac := range macs {
			for _, node := range inv.Nodes {
				if inv.Cluster.Network.Addressing == inventory.AddressingDHCP && bytes.Equal(node.MAC[:], mac) {
					leases = append(leases, node.Prefix(inv.Cluster))
				}
			}
		}
	}
	return leases, errors.Join(unread...)
}

// moved returns the inventory in a folder with the lab's addresses.
func (r reservations) moved(dir string) (*inventory.Inventory, error) {
	inv, err := inventory.Load(dir)
	if err != nil {
		return nil, err
	}
	network, err := r.lab.NetworkOf(inv.Cluster.Network.CIDR)
	if err != nil {
		return nil, err
	}
	return inv.Rebase(network)
}
