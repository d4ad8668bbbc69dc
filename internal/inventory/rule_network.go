package inventory

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/hostname"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// network checks the nodes' own network.
func (c *checker) network() {
	network := c.inv.Cluster.Network
	c.cidr = c.nodeSubnet(network.CIDR, key("network", "cidr"))
	c.cidr6 = c.nodeSubnet(network.CIDR6, key("network", "cidr6"))
	c.families()
	c.gateway(network.Gateway, c.cidr, "gateway", "cidr")
	c.gateway(network.Gateway6, c.cidr6, "gateway6", "cidr6")
	c.nameservers()
	c.timeServers()
	if !c.carriesIPv6() || network.MTU == 0 || network.MTU >= limits.IPv6MTU {
		return
	}
	c.cluster(key("network", "mtu"), fault{
		What: "is too small for IPv6", Rule: fmt.Sprintf("at least %d", limits.IPv6MTU),
		Got: strconv.Itoa(network.MTU), Do: fmt.Sprintf("choose %d unless the bridge has less", hardware.MTU),
	})
}

// carriesIPv6 reports whether the nodes have IPv6 addresses.
func (c *checker) carriesIPv6() bool {
	return c.cidr6.IsValid() || c.cidr.IsValid() && c.cidr.Addr().Is6()
}

// carriesIPv4 reports whether the nodes have IPv4 addresses.
func (c *checker) carriesIPv4() bool { return c.cidr.IsValid() && c.cidr.Addr().Is4() }

// canonical reports a network that is written as an address inside it.
func canonical(prefix netip.Prefix, at *strictyaml.Path, report report) {
	if prefix.IsValid() && prefix != prefix.Masked() {
		report(at, fault{
			What: "is an address, not a network", Rule: "the bits after the prefix are 0", Got: prefix.String(),
			Do: "did you mean " + prefix.Masked().String() + "?",
		})
	}
}

// nodeSubnet checks a network of nodes: canonical, of unicast addresses, and large enough for a few machines. It returns the
// network if it can be used.
func (c *checker) nodeSubnet(cidr netip.Prefix, at *strictyaml.Path) (usable netip.Prefix) {
	canonical(cidr, at, c.cluster)
	if !cidr.IsValid() {
		return netip.Prefix{}
	}
	first, last := 8, cidr.Addr().BitLen()-2
	addr := cidr.Addr()
	switch {
	case cidr.Bits() < first || cidr.Bits() > last:
		c.cluster(at, fault{
			What: "has no useful size", Rule: fmt.Sprintf("/%d to /%d", first, last), Got: cidr.String(),
			Do: "choose another prefix length",
		})
	case addr.IsLoopback() || addr.IsMulticast() || addr.IsUnspecified() || addr.IsLinkLocalUnicast():
		c.cluster(at, fault{
			What: "is no network for machines", Rule: "neither loopback, multicast, link-local nor unspecified",
			Got: cidr.String(), Do: "choose one like 192.168.20.0/24 or fd00:20::/64",
		})
	default:
		return cidr.Masked()
	}
	return netip.Prefix{}
}

// families checks that cidr6 is the IPv6 half of a dual-stack cluster.
func (c *checker) families() {
	network := c.inv.Cluster.Network
	at := key("network", "cidr6")
	switch {
	case c.cidr6.IsValid() && c.cidr6.Addr().Is4():
		c.cluster(at, fault{
			What: "is IPv4", Rule: "the IPv6 half of a dual-stack cluster", Got: network.CIDR6.String(),
			Do: "write it as cidr",
		})
		c.cidr6 = netip.Prefix{}
	case c.cidr6.IsValid() && c.cidr.IsValid() && c.cidr.Addr().Is6():
		c.cluster(at, fault{
			What: "is a second IPv6 network", Rule: "network.cidr is IPv6 already", Got: network.CIDR6.String(),
			Do: "give the IPv4 network as cidr, or remove the key",
		})
		c.cidr6 = netip.Prefix{}
	case network.Gateway6.IsValid() && !c.inv.clusterSource.Has(at):
		c.cluster(key("network", "gateway6"), fault{
			What: "has no network", Rule: "it is the gateway of network.cidr6",
			Got: network.Gateway6.String(), Do: "give network.cidr6, or remove the key",
		})
	}
}

// gateway checks a default route. An IPv6 gateway may be link-local, as with router advertisements.
func (c *checker) gateway(gateway netip.Addr, cidr netip.Prefix, name, network string) {
	if !gateway.IsValid() || !cidr.IsValid() || gateway.Is6() && gateway.IsLinkLocalUnicast() {
		return
	}
	if problem, wrong := outside(gateway, cidr, "network."+network); wrong {
		c.cluster(key("network", name), problem)
	}
}

// outside returns why a machine in a network cannot have the address; false if it can.
func outside(addr netip.Addr, cidr netip.Prefix, name string) (problem fault, wrong bool) {
	first, last := hosts(cidr)
	problem = fault{
		Rule: name + " is " + cidr.String(), Got: addr.String(),
		Do: fmt.Sprintf("choose an address from %s to %s", first, last),
	}
	switch {
	case addr.Is4() != cidr.Addr().Is4():
		problem.What = "is of the other IP family"
	case !cidr.Contains(addr):
		problem.What = "lies outside the network"
	case addr == cidr.Addr():
		problem.What = "is the network's own address"
	case addr.Is4() && addr == last.Next():
		problem.What = "is the network's broadcast address"
	default:
		return fault{}, false
	}
	return problem, true
}

// hosts returns the first and the last address that a machine in the network can have. IPv6 has no broadcast address.
func hosts(cidr netip.Prefix) (first, last netip.Addr) {
	bytes := cidr.Addr().AsSlice()
	for bit := cidr.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ = netip.AddrFromSlice(bytes)
	if last.Is4() {
		last = last.Prev()
	}
	return cidr.Addr().Next(), last
}

// timeServers checks that each is a host, and that none is named twice.
func (c *checker) timeServers() {
	at := key("network", "timeServers")
	seen := make(map[string]bool)
	for i, server := range c.inv.Cluster.Network.TimeServers {
		switch {
		case server == "":
			continue
		case !hostname.IsHost(server):
			c.cluster(at.Index(i), fault{
				What: "is neither a DNS name nor an IP address", Got: server,
				Do: "write one like time.cloudflare.com",
			})
		case seen[server]:
			c.cluster(at.Index(i), fault{What: "is given twice", Got: server, Do: "remove one of them"})
		}
		seen[server] = true
	}
}
