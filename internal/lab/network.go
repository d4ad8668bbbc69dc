package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"syscall"
)

// nodePort is the port of Talos on every node.
const nodePort = 50000

// Networks of labs begin with 127.20 to 127.99. The other bytes are the inventory's, so that addresses are easy to recognise.
const firstLabByte, lastLabByte = 20, 99

var errNoNetwork = errors.New("no loopback network is free for the nodes: stop other labs with `em-infra lab stop`")

// chooseNetwork returns a free loopback network for the machines of a site, with the prefix length of their own network. No
// other lab has taken it, and its Talos ports are free. If possible, 192.168.20.0/24 becomes 127.20.20.0/24.
func chooseNetwork(site Site, taken []netip.Prefix) (netip.Prefix, error) {
	network := site.Network
	if !network.Addr().Is4() || network.Bits() < 16 {
		return netip.Prefix{}, fmt.Errorf("network.cidr %s cannot be rehearsed (IPv4, /16 or longer): choose a smaller network", network)
	}
	for second := firstLabByte; second <= lastLabByte; second++ {
		bytes := network.Addr().As4()
		bytes[0], bytes[1] = 127, byte(second)
		candidate := netip.PrefixFrom(netip.AddrFrom4(bytes), network.Bits())
		if overlapsAny(candidate, taken) {
			continue
		}
		free, err := site.isFree(candidate)
		if err != nil {
			return netip.Prefix{}, err
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, errNoNetwork
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

// claimNetwork reserves the network for this lab until the listener is closed.
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
