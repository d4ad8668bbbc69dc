package inventory

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// addresses checks that every node has a unique address in the nodes' network.
func (c *checker) addresses() {
	cluster := c.inv.Cluster
	taken := map[netip.Addr]string{}
	claim := func(addr netip.Addr, owner string) {
		if addr.IsValid() && taken[addr] == "" {
			taken[addr] = owner
		}
	}
	claim(cluster.Network.Gateway, "the gateway")
	claim(cluster.Network.Gateway6, "the gateway")
	claim(cluster.Kubernetes.Endpoint.VIP, "the Kubernetes API (its vip)")
	for i, node := range c.inv.Nodes {
		path := nodePath(i)
		c.address(node.Address, c.cidr, "cidr", path.Key("address"), taken)
		c.address(node.Address6, c.cidr6, "cidr6", path.Key("address6"), taken)
		c.dualStack(node, path)
		for j, nic := range node.NICs {
			c.furtherAddress(nic, path.Key("networks").Index(j).Key("address"), taken)
		}
	}
	c.endpointOwner(taken)
}

// address checks one address of a node and records it.
func (c *checker) address(addr netip.Addr, cidr netip.Prefix, network string, at *strictyaml.Path, taken map[netip.Addr]string) {
	if !addr.IsValid() {
		return
	}
	if cidr.IsValid() {
		if problem, wrong := outside(addr, cidr, "network."+network); wrong {
			c.node(at, problem)
			return
		}
	}
	c.take(addr, at, taken)
}

// take records an address, and reports it if it is in use.
func (c *checker) take(addr netip.Addr, at *strictyaml.Path, taken map[netip.Addr]string) {
	if owner := taken[addr]; owner != "" {
		c.node(at, fault{
			What: "is the address of " + owner + " too", Rule: "addresses are unique", Got: addr.String(),
			Do: "choose a free address",
		})
		return
	}
	taken[addr] = at.Parent().String()
}

// dualStack checks that a node has an IPv6 address exactly when the cluster has two networks.
func (c *checker) dualStack(node Node, path *strictyaml.Path) {
	at := path.Key("address6")
	given, wanted := c.inv.nodesSource.Has(at), c.inv.clusterSource.Has(key("network", "cidr6"))
	switch {
	case wanted && !given:
		c.node(at, fault{What: "is missing", Rule: "network.cidr6 is given, so each node has two addresses", Do: "add it"})
	case given && !wanted && c.inv.clusterSource != nil:
		c.node(at, fault{
			What: "has no network", Rule: "network.cidr6 is not given", Got: node.Address6.String(),
			Do: "give network.cidr6, or remove the key",
		})
	}
}

// furtherAddress checks the address of a further card: it must be in a separate network, so that there is one route to each
// host.
func (c *checker) furtherAddress(nic NIC, at *strictyaml.Path, taken map[netip.Addr]string) {
	if !nic.Address.IsValid() {
		return
	}
	addr, cidr := nic.Address.Addr(), nic.Address.Masked()
	if nic.Address.IsSingleIP() {
		c.take(addr, at, taken)
		return
	}
	if problem, wrong := outside(addr, cidr, "its network"); wrong {
		c.node(at, problem)
		return
	}
	if cidr.Addr().Is6() && nic.MTU != 0 && nic.MTU < limits.IPv6MTU {
		c.node(at.Parent().Key("mtu"), fault{
			What: "is too small for IPv6", Rule: fmt.Sprintf("at least %d", limits.IPv6MTU),
			Got: strconv.Itoa(nic.MTU), Do: fmt.Sprintf("choose %d unless the bridge has less", hardware.MTU),
		})
	}
	for _, other := range c.clusterSubnets() {
		if other.cidr.IsValid() && other.cidr.Overlaps(cidr) {
			c.node(at, fault{
				What: "overlaps with " + other.name, Rule: "that is " + other.cidr.String(), Got: nic.Address.String(),
				Do: "choose a network of its own",
			})
			return
		}
	}
	c.take(addr, at, taken)
}

// clusterSubnets returns the networks to which every node already has a route.
func (c *checker) clusterSubnets() []subnet {
	kubernetes := c.inv.Cluster.Kubernetes
	list := []subnet{{name: "network.cidr", cidr: c.cidr}, {name: "network.cidr6", cidr: c.cidr6}}
	for _, cidr := range kubernetes.PodSubnets {
		list = append(list, subnet{name: "kubernetes.podSubnets", cidr: cidr})
	}
	for _, cidr := range kubernetes.ServiceSubnets {
		list = append(list, subnet{name: "kubernetes.serviceSubnets", cidr: cidr})
	}
	return list
}

// endpointOwner checks that an endpoint with the address of a node names a control plane.
func (c *checker) endpointOwner(taken map[netip.Addr]string) {
	addr, err := netip.ParseAddr(c.inv.Cluster.Kubernetes.Endpoint.Host)
	if err != nil {
		return
	}
	for i, node := range c.inv.Nodes {
		if node.Address == addr && node.Role != RoleControlPlane && node.Role != "" {
			c.cluster(key("kubernetes", "endpoint", "host"), fault{
				What: "is the address of " + nodePath(i).String() + ", a " + string(node.Role),
				Rule: "the API runs on control planes", Got: addr.String(), Do: "name a control plane, or give a vip",
			})
		}
	}
	if taken[addr] == "the gateway" {
		c.cluster(key("kubernetes", "endpoint", "host"), fault{
			What: "is the gateway's address", Got: addr.String(),
			Do: "name a control plane, or give a vip",
		})
	}
}
