package newstack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
)

// installedBridge is the bridge that the installer of Proxmox VE makes.
const installedBridge = "vmbr0"

func (p *proposal) chooseBridge() {
	if p.Bridge != "" || len(p.Hosts) == 0 {
		return
	}
	common := p.common(func(host string) (names []string) {
		for _, bridge := range p.site.Found.Hosts[host].Bridges.Value {
			names = append(names, bridge.Name)
		}
		return names
	})
	switch {
	case slices.Contains(common, installedBridge):
		p.Bridge = installedBridge
	case len(common) > 0:
		p.Bridge = common[0]
	default:
		p.problem("%s no bridge that the token may use: make one in Proxmox VE (host, System, Network), give the token the role that `em-infra role` prints, or name other hosts with --host", p.haveTogether())
	}
}

// haveTogether returns the hosts as the subject of a sentence about what they lack.
func (p *proposal) haveTogether() string {
	if len(p.Hosts) == 1 {
		return "host " + p.Hosts[0] + " has"
	}
	return "hosts " + strings.Join(p.Hosts, ", ") + " have together"
}

// common returns what each of the hosts has, sorted.
func (p *proposal) common(of func(host string) []string) []string {
	common := of(p.Hosts[0])
	for _, host := range p.Hosts[1:] {
		others := of(host)
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(others, name) })
	}
	slices.Sort(common)
	return common
}

// chooseNetwork chooses the nodes' network, its gateway, and networks of Kubernetes beside it.
func (p *proposal) chooseNetwork() {
	own := p.ownNetwork()
	if !p.Network.IsValid() && own.prefix.IsValid() {
		p.Network = own.prefix
	}
	switch {
	case !p.Network.IsValid():
		p.problem("the network of the nodes cannot be read from a bridge: name one whose addresses you may hand out, as in --network 192.168.20.0/24")
		return
	case !p.Network.Addr().Is4():
		p.problems = append(p.problems, notIPv4(p.Network))
		return
	}
	p.Network = p.Network.Masked()
	if !p.Gateway.IsValid() {
		p.Gateway = p.Network.Addr().Next()
		if p.Network.Contains(own.gateway) {
			p.Gateway = own.gateway
		}
	}
	p.Pods = p.beside(p.Defaults.Kubernetes.PodSubnets, "10.248.0.0/16", "172.20.0.0/16")
	p.Services = p.beside(p.Defaults.Kubernetes.ServiceSubnets, "10.112.0.0/12", "172.24.0.0/16")
}

// notIPv4 is the reason why a network is not taken.
func notIPv4(network netip.Prefix) error {
	return fmt.Errorf("the network %s is not IPv4: name an IPv4 network with --network, and add network.cidr6 to cluster.yaml afterwards", network)
}

type ownNetwork struct {
	prefix  netip.Prefix
	gateway netip.Addr
}

// ownNetwork returns the hosts' own network on the bridge, which nodes without a tag share.
func (p *proposal) ownNetwork() (own ownNetwork) {
	if p.VLAN != 0 {
		return own
	}
	for _, host := range p.Hosts {
		bridges := p.site.Found.Hosts[host].Bridges.Value
		at := slices.IndexFunc(bridges, func(bridge pve.Bridge) bool { return bridge.Name == p.Bridge })
		if at < 0 {
			continue
		}
		if prefix, err := netip.ParsePrefix(bridges[at].CIDR); err == nil {
			own.prefix = prefix.Masked()
			own.gateway, _ = netip.ParseAddr(bridges[at].Gateway) // the zero value is in no network
			return own
		}
	}
	return own
}

// beside returns the first of others that does not overlap with the nodes' network; the zero value if usual, the default, does not overlap.
func (p *proposal) beside(usual []netip.Prefix, others ...string) netip.Prefix {
	overlaps := func(prefix netip.Prefix) bool { return prefix.Overlaps(p.Network) }
	if !slices.ContainsFunc(usual, overlaps) {
		return netip.Prefix{}
	}
	for _, other := range others {
		if prefix := netip.MustParsePrefix(other); !overlaps(prefix) {
			return prefix
		}
	}
	return netip.Prefix{} // the check of the inventory reports it
}

// roomyBits is the longest prefix of a network in which addresses are handed out from the tenth on.
const roomyBits = 27

// chooseAddresses gives the Kubernetes API and the nodes the first free addresses.
func (p *proposal) chooseAddresses() {
	if !p.Network.IsValid() || !p.Network.Addr().Is4() {
		return
	}
	free := p.addresses(1+len(p.Nodes), "one for the Kubernetes API and one for each node", "name a larger network with --network, an earlier --first-address, or fewer nodes")
	if free == nil {
		return
	}
	p.VIP = free[0]
	for i := range p.Nodes {
		p.Nodes[i].Address = free[i+1]
	}
}

// addresses returns free addresses for a purpose; nil if there are not as many.
func (p *proposal) addresses(needed int, purpose, remedy string) []netip.Addr {
	first := p.FirstAddress
	if !first.IsValid() {
		offset := 10
		if p.Network.Bits() > roomyBits {
			offset = 2
		}
		first = p.Network.Addr()
		for range offset {
			first = first.Next()
		}
		p.FirstAddress = first
	}
	if !p.Network.Contains(first) {
		p.problem("the first address %s is not in the network %s: choose one of it with --first-address", first, p.Network)
		return nil
	}
	free := p.freeAddresses(first, needed)
	if len(free) < needed {
		p.problem("network %s has fewer than %d free addresses from %s on (%d), %s: %s", p.Network, needed, first, len(free), purpose, remedy)
		return nil
	}
	return free
}

// freeAddresses returns as many free addresses, or fewer if there are not as many. The last one of a network is its broadcast
// address.
func (p *proposal) freeAddresses(first netip.Addr, needed int) []netip.Addr {
	var free []netip.Addr
	for address := first; len(free) < needed && p.Network.Contains(address.Next()); address = address.Next() {
		if address != p.Network.Addr() && address != p.Gateway && !p.taken.addresses[address] {
			free = append(free, address)
		}
	}
	return free
}
