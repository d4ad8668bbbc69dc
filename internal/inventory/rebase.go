package inventory

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
)

// Rebase returns a copy of the inventory whose node network has another CIDR of the same family and length: the network, its
// gateway, the name servers inside it, the API endpoint and the nodes' addresses keep their place in it. Everything else is
// unchanged, also the MACs, which do not depend on addresses.
func (i *Inventory) Rebase(to netip.Prefix) (*Inventory, error) {
	from := i.Cluster.Network.CIDR
	if err := i.canMove(from, to); err != nil {
		return nil, fmt.Errorf("rebase %s to %s: %w", from, to, err)
	}
	move := func(addr netip.Addr) netip.Addr { return moved(addr, from, to) }
	copied := *i
	network := &copied.Cluster.Network
	network.CIDR = to
	network.Gateway = move(network.Gateway)
	network.Nameservers = slices.Clone(network.Nameservers)
	for at, server := range network.Nameservers {
		network.Nameservers[at].Address = move(server.Address)
	}
	endpoint := &copied.Cluster.Kubernetes.Endpoint
	endpoint.VIP = move(endpoint.VIP)
	if addr, err := netip.ParseAddr(endpoint.Host); err == nil {
		endpoint.Host = move(addr).String()
	}
	copied.Nodes = slices.Clone(i.Nodes)
	for at, node := range copied.Nodes {
		copied.Nodes[at].Address = move(node.Address)
	}
	return &copied, nil
}

// canMove returns why the node network cannot have the other CIDR; nil if it can.
func (i *Inventory) canMove(from, to netip.Prefix) error {
	if !to.IsValid() || to.Addr().Is4() != from.Addr().Is4() || to.Bits() != from.Bits() {
		return errors.New("a network only moves to one of the same family and length")
	}
	if to != to.Masked() {
		return fmt.Errorf("%s is no network: did you mean %s?", to, to.Masked())
	}
	for _, subnet := range slices.Concat(i.Cluster.Kubernetes.PodSubnets, i.Cluster.Kubernetes.ServiceSubnets) {
		if subnet.Overlaps(to) {
			return fmt.Errorf("it overlaps with %s of the pods or services", subnet)
		}
	}
	return nil
}

// moved returns the address at the same place of another network; an address outside of from is unchanged.
func moved(addr netip.Addr, from, to netip.Prefix) netip.Addr {
	if !from.Contains(addr) {
		return addr
	}
	offset := new(big.Int).Sub(number(addr), number(from.Addr()))
	bytes := make([]byte, addr.BitLen()/8)
	result, _ := netip.AddrFromSlice(offset.Add(offset, number(to.Addr())).FillBytes(bytes))
	return result
}

// number returns an address as a number.
func number(addr netip.Addr) *big.Int { return new(big.Int).SetBytes(addr.AsSlice()) }
