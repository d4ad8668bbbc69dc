package lab

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Site is what a lab emulates: hosts, and the network of their machines.
type Site struct {
	// Hosts are the Proxmox VE nodes. Required.
	Hosts []proxmox.Host
	// Host is the name of the host for the lab's certificate. Required.
	Host string
	// NAS is the TrueNAS box beside them. Default: nil, none.
	NAS *NAS
	// Network has the machines' addresses, IPv4 and /16 or longer. The lab moves it to loopback. Required.
	Network netip.Prefix

	// standIns returns what stands in for a file on the internet; nil for none.
	standIns func(url string) (proxmox.StandIn, bool)
	// inventory is the folder of the inventory whose changes the lab follows; "" for none.
	inventory string
	// machines returns the addresses of the machines after the network was moved; nil if they are not known in advance.
	machines func(network netip.Prefix) ([]netip.Addr, error)
}

// SiteOf returns the site that an inventory describes.
func SiteOf(inv *inventory.Inventory) Site {
	return Site{
		Hosts: hosts(inv), Host: inv.Cluster.Proxmox.Host, Network: inv.Cluster.Network.CIDR, inventory: inv.Dir, NAS: nasOf(inv),
		machines: func(network netip.Prefix) ([]netip.Addr, error) {
			moved, err := inv.Rebase(network)
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

// described returns a function that returns the hosts when their description has changed since its last call; nil without an
// inventory.
func (s Site) described() func() []proxmox.Host {
	if s.inventory == "" {
		return nil
	}
	return (&edits{dir: s.inventory}).hosts
}

// isFree reports whether the machines' addresses are free when the network is moved there.
func (s Site) isFree(network netip.Prefix) (bool, error) {
	if !isFree(claim(network)) {
		return false, nil
	}
	if s.machines == nil {
		return true, nil
	}
	addresses, err := s.machines(network)
	if err != nil {
		return false, err
	}
	for _, address := range addresses {
		if !isFree(netip.AddrPortFrom(address, nodePort)) {
			return false, nil
		}
	}
	return true, nil
}
