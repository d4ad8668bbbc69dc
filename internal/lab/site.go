package lab

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Site is what a lab emulates: hosts, and the network of what runs on them.
type Site struct {
	// Hosts are the Proxmox VE nodes. Required.
	Hosts []proxmox.Host
	// Host is the name of the one that the lab's certificate is of. Required.
	Host string
	// Network is where the machines have their addresses, IPv4 and /16 or longer. The lab moves it to loopback. Required.
	Network netip.Prefix

	// inventory is the folder of the inventory that describes the site, whose edits the lab follows; "" for none.
	inventory string
	// machines are the addresses of the machines, wherever the network is moved to; nil where nobody knows them before.
	machines func(network netip.Prefix) ([]netip.Addr, error)
}

// SiteOf is the site that an inventory describes.
func SiteOf(inv *inventory.Inventory) Site {
	return Site{
		Hosts: hosts(inv), Host: inv.Cluster.Proxmox.Host, Network: inv.Cluster.Network.CIDR, inventory: inv.Dir,
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

// described tells from one request to the next whether the hosts are described otherwise by now; nil where nobody does.
func (s Site) described() func() []proxmox.Host {
	if s.inventory == "" {
		return nil
	}
	return (&edits{dir: s.inventory}).hosts
}

// isFree reports whether nobody listens where the machines would, were the network moved there.
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
