package lab

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Site is what a lab emulates: hosts, and the networks of their machines.
type Site struct {
	// Hosts are the Proxmox VE nodes. Required.
	Hosts []proxmox.Host
	// Host is the name of the host for the lab's certificate. Required.
	Host string
	// NAS is the TrueNAS box beside them. Default: nil, none.
	NAS *NAS
	// Networks have the machines' addresses, one for each cluster that has its own; each is IPv4 and /16 or longer. The lab moves them to
	// loopback. Required.
	Networks []netip.Prefix

	// standIns returns what stands in for a file on the internet; nil for none.
	standIns func(url string) (proxmox.StandIn, bool)
	// clusters are the folders of the clusters' inventories, whose changes the lab follows.
	clusters []string
	// describe describes the hosts anew after a change; nil without clusters.
	describe func() ([]proxmox.Host, error)
	// machines returns the addresses of the machines after the networks were moved; nil if they are not known in advance.
	machines func(move func(netip.Prefix) netip.Prefix) ([]netip.Addr, error)
}

// SiteOf returns the site that an inventory describes.
func SiteOf(inv *inventory.Inventory) Site {
	return Site{
		Hosts: hosts(inv), Host: inv.Cluster.Proxmox.Host, Networks: []netip.Prefix{inv.Cluster.Network.CIDR}, NAS: nasOf(inv),
		clusters: []string{inv.Dir},
		describe: func() ([]proxmox.Host, error) {
			changed, err := inventory.Load(inv.Dir)
			if err != nil {
				return nil, err
			}
			return hosts(changed), nil
		},
		machines: func(move func(netip.Prefix) netip.Prefix) ([]netip.Addr, error) {
			moved, err := inv.Rebase(move(inv.Cluster.Network.CIDR))
			if err != nil {
				return nil, err
			}
			addresses := make([]netip.Addr, len(moved.Nodes))
			for i, node := range moved.Nodes {
				addresses[i] = node.Address
			}
			return addresses, nil
		},
	}
}

// described returns a function that returns the hosts when their description has changed since its last call; nil if it does not
// change.
func (s Site) described() func() []proxmox.Host {
	if s.describe == nil {
		return nil
	}
	return (&edits{dirs: s.clusters, describe: s.describe}).hosts
}

var errAlikeNetworks = errors.New("the networks of two clusters would be the same in the lab, which changes the first two bytes of an address: rehearse one of their stacks without the others, with `em-infra up --stack STACK --lab`")

// moved returns the networks when their first two bytes are 127 and the given one.
func (s Site) moved(second byte) ([]netip.Prefix, error) {
	var all []netip.Prefix
	from := map[netip.Prefix]netip.Prefix{}
	for _, network := range s.Networks {
		moved := loopbackOf(network, second)
		if other, is := from[moved]; is && other == network.Masked() {
			continue // two clusters in one network
		}
		if overlapsAny(moved, all) {
			return nil, errAlikeNetworks
		}
		from[moved] = network.Masked()
		all = append(all, moved)
	}
	return all, nil
}

// isFree reports whether the networks and the machines' addresses are free when the second byte is the given one.
func (s Site) isFree(networks []netip.Prefix, second byte) (bool, error) {
	if slices.ContainsFunc(networks, func(n netip.Prefix) bool { return !isFree(claim(n)) }) {
		return false, nil
	}
	if s.machines == nil {
		return true, nil
	}
	addresses, err := s.machines(func(network netip.Prefix) netip.Prefix { return loopbackOf(network, second) })
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !isFree(netip.AddrPortFrom(a, nodePort)) }), nil
}
