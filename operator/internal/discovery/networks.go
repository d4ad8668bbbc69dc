package discovery

import (
	"fmt"
	"net/netip"
	"slices"
)

// networks returns the networks of the nodes and the gateways of the first. There are two if pods have both families and each node has an
// address of both.
func (c Cluster) networks(pods []string) (networkKeys, error) {
	cidr, err := c.common(func(n Node) netip.Prefix { return n.Address })
	if err != nil {
		return networkKeys{}, err
	}
	for _, node := range c.Nodes {
		if !node.Address.IsValid() {
			return networkKeys{}, fmt.Errorf("%s does not say how long its network's prefix is: write the inventory by hand", node.Name)
		}
	}
	keys := networkKeys{CIDR: cidr.String(), Gateway: c.gateway(cidr.Addr().Is4())}
	if !cidr.Addr().Is4() || !isDualStack(pods) || slices.ContainsFunc(c.Nodes, func(n Node) bool { return !n.Address6.IsValid() }) {
		return keys, nil
	}
	second, err := c.common(func(n Node) netip.Prefix { return n.Address6 })
	keys.CIDR6, keys.Gateway6 = second.String(), c.gateway(false)
	return keys, err
}

// common returns the network that all nodes share.
func (c Cluster) common(of func(Node) netip.Prefix) (cidr netip.Prefix, err error) {
	for _, node := range c.Nodes {
		address := of(node)
		if cidr.IsValid() && address.IsValid() && cidr != address.Masked() {
			return cidr, fmt.Errorf("%s is in %s and others are in %s: an inventory describes nodes of one network", node.Name, address.Masked(), cidr)
		}
		cidr = address.Masked()
	}
	return cidr, nil
}

// gateway returns that of the first node in a family; empty if it has none.
func (c Cluster) gateway(is4 bool) string {
	at := slices.IndexFunc(c.Nodes[0].Gateways, func(a netip.Addr) bool { return a.Is4() == is4 })
	if at < 0 {
		return ""
	}
	return c.Nodes[0].Gateways[at].WithZone("").String()
}

// isDualStack reports whether networks of pods have both families.
func isDualStack(networks []string) bool {
	is := func(four bool) bool {
		return slices.ContainsFunc(networks, func(text string) bool {
			network, err := netip.ParsePrefix(text)
			return err == nil && network.Addr().Is4() == four
		})
	}
	return is(true) && is(false)
}
