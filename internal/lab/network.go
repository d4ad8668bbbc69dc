package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/em-infra/em-infra/internal/filematch"
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

// checkNetwork returns why a network cannot be moved to loopback.
func checkNetwork(network netip.Prefix) error {
	if !network.Addr().Is4() || network.Bits() < 16 {
		return fmt.Errorf("network.cidr %s cannot be rehearsed (IPv4, /16 or longer): choose a smaller network", network)
	}
	return nil
}

// chooseNetwork returns a free loopback network for the machines in a network of the site, with the prefix length of their own network. No
// other lab has taken it, and its Talos ports are free. If possible, 192.168.20.0/24 becomes 127.20.20.0/24.
func (s Site) chooseNetwork(network netip.Prefix, taken []netip.Prefix) (netip.Prefix, error) {
	if err := checkNetwork(network); err != nil {
		return netip.Prefix{}, err
	}
	for second := byte(firstLabByte); second <= lastLabByte; second++ {
		candidate := loopbackOf(network, second)
		if overlapsAny(candidate, taken) {
			continue
		}
		free, err := s.isFree(network, candidate)
		if err != nil {
			return netip.Prefix{}, err
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, errNoNetwork
}

// ClusterNetwork is a cluster's network in a lab that several stacks share.
type ClusterNetwork struct {
	// Own is that of the inventory.
	Own netip.Prefix `json:"own"`
	// Lab is the loopback network that it is moved to.
	Lab netip.Prefix `json:"lab"`
}

// withNetworks adds the networks of clusters that a shared lab does not have yet. Its existing networks stay, because machines have addresses in
// them.
func (d Description) withNetworks(o Options) (Description, error) {
	if !o.Site.Shared || len(o.Site.clusters) == 0 {
		return d, nil
	}
	registered, err := registry(o.Registry).others(o.Dir)
	if err != nil {
		return d, fmt.Errorf("look for other labs: %w", err)
	}
	taken := takenBy(slices.Concat(registered, descriptionsBeside(o.Dir))).networks
	for _, own := range o.Site.Networks {
		if slices.ContainsFunc(d.Clusters, func(c ClusterNetwork) bool { return c.Own == own }) {
			continue
		}
		moved, err := o.Site.chooseNetwork(own, append(slices.Clone(taken), d.ofClusters()...))
		if err != nil {
			return d, err
		}
		d.Clusters = append(d.Clusters, ClusterNetwork{Own: own, Lab: moved})
	}
	return d, nil
}

// descriptionsBeside returns the descriptions of the project's other labs. It skips those that cannot be read.
func descriptionsBeside(dir string) []Description {
	var descriptions []Description
	siblings, _ := filematch.In(filepath.Dir(dir), "*") // what cannot be read has no labs
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
		return nil, fmt.Errorf("the node network %s of the lab is in use by a lab of another project on this machine: stop that one, or %s", network, beginAnew(dir))
	}
	return listener, err
}

// beginAnew returns the text that explains how to give up a lab: its folder is deleted. For a shared lab that is the folder above, because the
// states of the stacks that share it lie beside the lab's folder.
func beginAnew(dir string) string {
	if strings.HasPrefix(filepath.Base(dir), "_") {
		return "delete " + filepath.Dir(dir) + " to begin all rehearsals anew"
	}
	return "delete " + dir + " to begin anew"
}

func isFree(address netip.AddrPort) bool {
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return false
	}
	listener.Close()
	return true
}
