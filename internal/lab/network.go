package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"syscall"
)

// nodePort is the port of Talos on every node.
const nodePort = 50000

// Networks of labs begin with 127.20 to 127.99.
const firstLabByte, lastLabByte = 20, 99

var errNoNetwork = errors.New("no loopback network is free for the nodes: stop other labs with `em-infra lab stop`")

// loopbackOf returns a network with 127 and the given byte at its beginning. The other bytes stay, so that addresses are easy to recognise.
func loopbackOf(network netip.Prefix, second byte) netip.Prefix {
	bytes := network.Addr().As4()
	bytes[0], bytes[1] = 127, second
	return netip.PrefixFrom(netip.AddrFrom4(bytes), network.Bits()).Masked()
}

// chooseNetworks returns free loopback networks for the machines of a site, each with the prefix length of its own network. No
// other lab has taken them, and their Talos ports are free. If possible, 192.168.20.0/24 becomes 127.20.20.0/24.
func chooseNetworks(site Site, taken []netip.Prefix) ([]netip.Prefix, error) {
	for _, network := range site.Networks {
		if !network.Addr().Is4() || network.Bits() < 16 {
			return nil, fmt.Errorf("network.cidr %s cannot be rehearsed (IPv4, /16 or longer): choose a smaller network", network)
		}
	}
	for second := byte(firstLabByte); second <= lastLabByte; second++ {
		candidates, err := site.moved(second)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(candidates, func(n netip.Prefix) bool { return overlapsAny(n, taken) }) {
			continue
		}
		free, err := site.isFree(candidates, second)
		if err != nil {
			return nil, err
		}
		if free {
			return candidates, nil
		}
	}
	return nil, errNoNetwork
}

// withNetworks adds the networks of clusters that a lab of several stacks did not have yet. They begin like its first one.
func (d Description) withNetworks(o Options) (Description, error) {
	if len(o.Site.Networks) < 2 {
		return d, nil
	}
	second := d.Network.Addr().As4()[1]
	all, err := o.Site.moved(second)
	if err != nil {
		return d, err
	}
	for _, network := range all {
		if slices.Contains(d.Networks(), network) {
			continue
		}
		if overlapsAny(network, d.Networks()) || !isFree(claim(network)) {
			return d, fmt.Errorf("the lab cannot have the network %s beside %s, which it was made with: destroy what runs on it, then delete %s to begin anew", network, d.Network, o.Dir)
		}
		d.FurtherNetworks = append(d.FurtherNetworks, network)
	}
	return d, nil
}

// descriptionsBeside returns the descriptions of the project's other labs. It skips those that cannot be read.
func descriptionsBeside(dir string) []Description {
	var descriptions []Description
	siblings, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")) // the pattern is valid
	for _, sibling := range siblings {
		if description, err := ReadDescription(sibling); err == nil && sibling != dir {
			descriptions = append(descriptions, description)
		}
	}
	return descriptions
}

func overlapsAny(candidate netip.Prefix, taken []netip.Prefix) bool {
	for _, network := range taken {
		if candidate.Overlaps(network) {
			return true
		}
	}
	return false
}

// claim returns the address on which a lab listens to reserve its network: the network's own address, which no node has.
func claim(network netip.Prefix) netip.AddrPort {
	return netip.AddrPortFrom(network.Masked().Addr(), nodePort)
}

// claimNetwork reserves a network for this lab until the listener is closed.
func claimNetwork(network netip.Prefix, dir string) (net.Listener, error) {
	listener, err := net.Listen("tcp", claim(network).String())
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("the node network %s of the lab is in use by a lab of another project on this machine: stop that one, or delete %s to begin anew with another network", network, dir)
	}
	return listener, err
}

func isFree(address netip.AddrPort) bool {
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
