package inventory

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// The sizes that kube-controller-manager and kube-apiserver accept.
const (
	// A node gets a /24 of the pods' IPv4 network, a /64 of the IPv6 network (defaults of --node-cidr-mask-size-ipv4 and -ipv6,
	// which Talos does not change).
	nodePodBits4, nodePodBits6 = 24, 64
	// An IPv6 network is divided into at most 2^16 of them (clusterSubnetMaxDiff in pkg/controller/nodeipam/ipam/cidrset).
	maxPodSubnetBits = 16
	// A services' network has no more than 2^20 addresses (validateClusterIPFlags in cmd/kube-apiserver/app/options).
	maxServiceBits = 20
)

// subnet is one of the networks that must not overlap.
type subnet struct {
	name string
	at   *strictyaml.Path
	cidr netip.Prefix
}

// subnets checks the networks of pods and services, and that no two networks overlap.
func (c *checker) subnets() {
	kubernetes := c.inv.Cluster.Kubernetes
	pods := c.subnetList("podSubnets", kubernetes.PodSubnets)
	services := c.subnetList("serviceSubnets", kubernetes.ServiceSubnets)
	for _, pod := range pods {
		c.podSize(pod)
	}
	for _, service := range services {
		c.serviceSize(service)
	}
	disjoint := []subnet{{"network.cidr", key("network", "cidr"), c.cidr}, {"network.cidr6", key("network", "cidr6"), c.cidr6}}
	disjoint = append(append(disjoint, pods...), services...)
	for i, later := range disjoint {
		for _, earlier := range disjoint[:i] {
			if !later.cidr.IsValid() || !earlier.cidr.IsValid() || !later.cidr.Overlaps(earlier.cidr) {
				continue
			}
			c.cluster(later.at, fault{
				What: "overlaps with " + earlier.name, Rule: "that is " + earlier.cidr.String(),
				Got: later.cidr.String(), Do: "choose a network of its own",
			})
		}
	}
}

// subnetList checks that there is one network for each IP family of the nodes.
func (c *checker) subnetList(name string, cidrs []netip.Prefix) []subnet {
	at := key("kubernetes", name)
	var list []subnet
	families := map[bool]string{}
	for i, cidr := range cidrs {
		if !cidr.IsValid() {
			return list
		}
		canonical(cidr, at.Index(i), c.cluster)
		if other, twice := families[cidr.Addr().Is4()]; twice {
			c.cluster(at.Index(i), fault{
				What: "is a second network of its IP family", Rule: "one for IPv4, one for IPv6; the first is " + other,
				Got: cidr.String(), Do: "remove one of them",
			})
			continue
		}
		families[cidr.Addr().Is4()] = cidr.String()
		list = append(list, subnet{fmt.Sprintf("kubernetes.%s[%d]", name, i), at.Index(i), cidr})
	}
	if !c.cidr.IsValid() || c.cidr6.IsValid() != c.inv.clusterSource.Has(key("network", "cidr6")) || len(cidrs) == 0 {
		return list
	}
	for _, family := range []struct {
		name        string
		used, given bool
	}{{"IPv4", c.carriesIPv4(), families[true] != ""}, {"IPv6", c.carriesIPv6(), families[false] != ""}} {
		switch {
		case family.used && !family.given:
			c.cluster(at, fault{What: "has no " + family.name + " network", Rule: "one for each IP family of the nodes", Do: "add one"})
		case !family.used && family.given:
			c.cluster(at, fault{
				What: "has an " + family.name + " network that no node can use", Rule: "one for each IP family of the nodes",
				Do: "remove it, or give the nodes an " + family.name + " network",
			})
		}
	}
	return list
}

// podSize checks that a pods' network is large enough for each node's part.
func (c *checker) podSize(pods subnet) {
	narrowest, widest := nodePodBits4, 8
	if pods.cidr.Addr().Is6() {
		narrowest, widest = nodePodBits6, nodePodBits6-maxPodSubnetBits
	}
	if bits := pods.cidr.Bits(); bits < widest || bits > narrowest {
		c.cluster(pods.at, fault{
			What: "has no useful size", Rule: fmt.Sprintf("/%d to /%d", widest, narrowest),
			Got: pods.cidr.String(), Do: "choose another prefix length",
		})
		return
	}
	if room := 1 << (narrowest - pods.cidr.Bits()); room < len(c.inv.Nodes) {
		c.cluster(pods.at, fault{
			What: "is too small for " + counted(len(c.inv.Nodes), "node"),
			Rule: fmt.Sprintf("each takes a /%d, which makes %s", narrowest, strconv.Itoa(room)), Got: pods.cidr.String(),
			Do: "choose a shorter prefix",
		})
	}
}

// serviceSize checks that kube-apiserver accepts a services' network, and that it has room for more than the API and DNS.
func (c *checker) serviceSize(services subnet) {
	length := services.cidr.Addr().BitLen()
	widest, narrowest := length-maxServiceBits, length-4
	if bits := services.cidr.Bits(); bits < widest || bits > narrowest {
		c.cluster(services.at, fault{
			What: "has no useful size", Rule: fmt.Sprintf("/%d to /%d", widest, narrowest),
			Got: services.cidr.String(), Do: "choose another prefix length",
		})
	}
}
