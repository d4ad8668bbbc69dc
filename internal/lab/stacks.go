package lab

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	hostinventory "github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Stacks has the inventories of stacks that share a lab, or of the only one.
type Stacks struct {
	Hosts     []*hostinventory.Inventory
	Systems   []*systems.Inventory
	Platforms []*inventory.Inventory
}

// LoadStacks loads the inventories in the folders of stacks of any kinds.
func LoadStacks(dirs ...string) (Stacks, error) {
	var s Stacks
	for _, dir := range dirs {
		kind, err := manifest.KindOf(dir)
		if err != nil {
			return s, err
		}
		switch kind {
		case manifest.Hosts:
			err = added(&s.Hosts, dir, hostinventory.Load)
		case manifest.Systems:
			err = added(&s.Systems, dir, systems.Load)
		default:
			err = added(&s.Platforms, dir, inventory.Load)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func added[T any](to *[]T, dir string, load func(string) (T, error)) error {
	inv, err := load(dir)
	*to = append(*to, inv)
	return err
}

var (
	errNoHosts  = errors.New("no stack names a host: name one in the inventory of a stack")
	errTwoBases = errors.New("two stacks have different addons.truenas.csi.iqnBase, but a lab has one NAS: write the same one, or rehearse each of them alone, with `em-infra up --stack STACK --lab`")
	errTwoNAS   = errors.New("two stacks have different storage.username, but a lab has one NAS with one account: write the same one, or rehearse each of them alone, with `em-infra up --stack STACK --lab`")
)

// SiteOf returns the one site that stacks share. Its hosts have what platforms and systems name, except for what a
// stack of hosts describes. That stack creates it, so until then hosts are as their installer leaves them.
func SiteOf(s Stacks) (Site, error) {
	hosts := s.hosts()
	if len(hosts) == 0 {
		return Site{}, errNoHosts
	}
	site := Site{
		Hosts: hosts, Host: hosts[0].Name, Networks: s.networks(),
		standIns: s.standIns, inventories: s.dirs(), describe: s.describe, machines: s.machines,
	}
	for _, inv := range s.Platforms {
		nas, err := together(site.NAS, nasOf(inv))
		if err != nil {
			return Site{}, err
		}
		site.NAS, site.clusters = nas, append(site.clusters, inv.Dir)
	}
	if len(s.Platforms) > 0 {
		site.Host = s.Platforms[0].Cluster.Proxmox.Host
	}
	return site, nil
}

// dirs returns the folders of the inventories.
func (s Stacks) dirs() []string {
	var dirs []string
	for _, inv := range s.Hosts {
		dirs = append(dirs, inv.Dir)
	}
	for _, inv := range s.Systems {
		dirs = append(dirs, inv.Dir)
	}
	for _, inv := range s.Platforms {
		dirs = append(dirs, inv.Dir)
	}
	return dirs
}

// networks returns the clusters' networks, or that of the machines of a project without a cluster.
func (s Stacks) networks() []netip.Prefix {
	var networks []netip.Prefix
	for _, inv := range s.Platforms {
		if network := inv.Cluster.Network.CIDR; !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	if networks == nil {
		return []netip.Prefix{machinesNetwork}
	}
	return networks
}

// standIns returns what stands in for a file on the internet that a stack of systems names: in its files as they are now, or, if those are not
// valid, as they were at the start.
func (s Stacks) standIns(url string) (proxmox.StandIn, bool) {
	named := s.Systems
	if now, err := LoadStacks(s.dirs()...); err == nil {
		named = now.Systems
	}
	for _, inv := range named {
		if standIn, known := standInsOf(inv.File)(url); known {
			return standIn, true
		}
	}
	return proxmox.StandIn{}, false
}

// machines returns the addresses of the clusters' nodes in a network after it was moved.
func (s Stacks) machines(network, to netip.Prefix) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, inv := range s.Platforms {
		if network != inv.Cluster.Network.CIDR {
			continue
		}
		moved, err := inv.Rebase(to)
		if err != nil {
			return nil, err
		}
		for _, node := range moved.Nodes {
			all = append(all, node.Address)
		}
	}
	return all, nil
}

// describe describes the hosts by what the inventories contain now.
func (s Stacks) describe() ([]proxmox.Host, error) {
	now, err := LoadStacks(s.dirs()...)
	if err != nil {
		return nil, err
	}
	return now.hosts(), nil
}

// together returns the one box that two inventories describe. Each of them may describe none.
func together(a, b *NAS) (*NAS, error) {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a, nil
	}
	if a.User != b.User {
		return nil, errTwoNAS
	}
	if a.ISCSIBase != "" && b.ISCSIBase != "" && a.ISCSIBase != b.ISCSIBase {
		return nil, errTwoBases
	}
	return &NAS{
		User: a.User, Pools: distinct(slices.Concat(a.Pools, b.Pools)), Addresses: distinct(slices.Concat(a.Addresses, b.Addresses)),
		ISCSIBase: cmp.Or(a.ISCSIBase, b.ISCSIBase),
	}, nil
}
