package lab

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
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
	// Shared is whether several stacks use the lab, so that each network is moved to one of its own. Default: false, a lab has one network
	// for good.
	Shared bool

	// standIns returns what stands in for a file on the internet; nil for none.
	standIns func(url string) (proxmox.StandIn, bool)
	// clusters are the folders of the clusters' inventories, and inventories those of all stacks, whose changes the lab follows.
	clusters, inventories []string
	// describe describes the hosts anew after a change; nil if no inventory describes them.
	describe func() ([]proxmox.Host, error)
	// machines returns the addresses of the machines in a network after it was moved; nil if they are not known in advance.
	machines func(network, to netip.Prefix) ([]netip.Addr, error)
}

// Check returns why the lab cannot be this site.
func (s Site) Check() error {
	problems := []error{hardware.Validate(s.Hosts)}
	for _, network := range s.Networks {
		problems = append(problems, checkNetwork(network))
	}
	return errors.Join(problems...)
}

// described returns a function that returns the hosts when their description has changed since its last call; nil if it does not
// change.
func (s Site) described() func() []proxmox.Host {
	if s.describe == nil {
		return nil
	}
	return (&edits{dirs: s.inventories, describe: s.describe}).hosts
}

// isFree reports whether a network and the machines' addresses there are free when it is moved.
func (s Site) isFree(network, to netip.Prefix) (bool, error) {
	if !isFree(claim(to)) {
		return false, nil
	}
	if s.machines == nil {
		return true, nil
	}
	addresses, err := s.machines(network, to)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !isFree(netip.AddrPortFrom(a, nodePort)) }), nil
}
