package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/hostname"
)

// endpoint checks the address of the Kubernetes API: a free address of the nodes' network that the control planes share, or a
// host that the user provides.
func (c *checker) endpoint() {
	endpoint := c.inv.Cluster.Kubernetes.Endpoint
	at := key("kubernetes", "endpoint")
	vipGiven, hostGiven := c.inv.clusterSource.Has(at.Key("vip")), c.inv.clusterSource.Has(at.Key("host"))
	switch {
	case vipGiven && hostGiven:
		c.cluster(at, fault{What: "has a vip and a host", Rule: "exactly one of the two", Do: "remove one of them"})
	case !vipGiven && !hostGiven:
		c.cluster(at, fault{
			What: "has neither a vip nor a host", Rule: "exactly one of the two",
			Do: "give a free address of network.cidr as vip, or a DNS name as host",
		})
	case endpoint.Host != "" && !hostname.IsHost(endpoint.Host):
		c.cluster(at.Key("host"), fault{
			What: "is neither a DNS name nor an IP address", Got: endpoint.Host,
			Do: "write one like api.k3s-dev.example",
		})
	}
	c.vip(endpoint.VIP)
	c.port(endpoint)
}

// port checks the port: without a load balancer, it is the port of the API servers.
func (c *checker) port(endpoint Endpoint) {
	direct := endpoint.VIP.IsValid() || slices.ContainsFunc(c.inv.Nodes, func(node Node) bool {
		return node.Address.IsValid() && node.Address.String() == endpoint.Host
	})
	if direct && endpoint.Port != 0 && endpoint.Port != constants.DefaultControlPlanePort {
		c.cluster(key("kubernetes", "endpoint", "port"), fault{
			What: "is not where the API servers listen", Rule: fmt.Sprintf("that is %d", constants.DefaultControlPlanePort),
			Got: strconv.Itoa(endpoint.Port), Do: "remove the key, or give the host of a load balancer",
		})
	}
}

func (c *checker) vip(vip netip.Addr) {
	if !vip.IsValid() || !c.cidr.IsValid() {
		return
	}
	at := key("kubernetes", "endpoint", "vip")
	if problem, wrong := outside(vip, c.cidr, "network.cidr"); wrong {
		c.cluster(at, problem)
	} else if vip == c.inv.Cluster.Network.Gateway {
		c.cluster(at, fault{
			What: "is the gateway's address", Rule: "the control planes take it over", Got: vip.String(),
			Do: "choose a free address",
		})
	}
}
