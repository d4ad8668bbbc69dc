package lab

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	hostinventory "github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// Project has the inventories of stacks that share a lab, or of the only one.
type Project struct {
	Hosts     []*hostinventory.Inventory
	Systems   []*systems.Inventory
	Platforms []*inventory.Inventory

	dirs []string
}

// LoadProject loads the inventories in the folders of stacks of any kinds.
func LoadProject(dirs ...string) (Project, error) {
	p := Project{dirs: dirs}
	for _, dir := range dirs {
		kind, err := manifest.KindOf(dir)
		if err != nil {
			return p, err
		}
		switch kind {
		case manifest.Hosts:
			err = added(&p.Hosts, dir, hostinventory.Load)
		case manifest.Systems:
			err = added(&p.Systems, dir, systems.Load)
		default:
			err = added(&p.Platforms, dir, inventory.Load)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func added[T any](to *[]T, dir string, load func(string) (T, error)) error {
	inv, err := load(dir)
	*to = append(*to, inv)
	return err
}

var (
	errNoStacks = errors.New("the project has no stack: make one with `em-infra init`")
	errTwoNAS   = errors.New("two stacks have different storage.username or storage.pool, but the lab has one NAS: rehearse one of them without the others, with `em-infra up --stack STACK --lab`")
)

// SiteOfProject returns the one site that stacks share. Its hosts have what platforms and systems name, except for what a
// stack of hosts describes: that stack makes it, so without it hosts are as their installer leaves them.
func SiteOfProject(p Project) (Site, error) {
	hosts := p.hosts()
	if len(hosts) == 0 {
		return Site{}, errNoStacks
	}
	site := Site{Hosts: hosts, Host: hosts[0].Name, Networks: p.networks(), standIns: p.standIns}
	for _, inv := range p.Platforms {
		nas, err := together(site.NAS, nasOf(inv))
		if err != nil {
			return Site{}, err
		}
		site.NAS, site.clusters = nas, append(site.clusters, inv.Dir)
	}
	if len(p.Platforms) > 0 {
		site.Host = p.Platforms[0].Cluster.Proxmox.Host
		site.describe, site.machines = p.describe, p.machines
	}
	return site, nil
}

// networks returns the clusters' networks, or that of the machines of a project without a cluster.
func (p Project) networks() []netip.Prefix {
	var networks []netip.Prefix
	for _, inv := range p.Platforms {
		if network := inv.Cluster.Network.CIDR; !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	if networks == nil {
		return []netip.Prefix{machinesNetwork}
	}
	return networks
}

// standIns returns what stands in for a file on the internet that a stack of systems names.
func (p Project) standIns(url string) (proxmox.StandIn, bool) {
	for _, inv := range p.Systems {
		if standIn, known := standInsOf(inv.File)(url); known {
			return standIn, true
		}
	}
	return proxmox.StandIn{}, false
}

// machines returns the addresses of the clusters' nodes after the networks were moved.
func (p Project) machines(move func(netip.Prefix) netip.Prefix) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, inv := range p.Platforms {
		addresses, err := SiteOf(inv).machines(move)
		if err != nil {
			return nil, err
		}
		all = append(all, addresses...)
	}
	return all, nil
}

// describe describes the hosts by what the inventories contain now.
func (p Project) describe() ([]proxmox.Host, error) {
	now, err := LoadProject(p.dirs...)
	if err != nil {
		return nil, err
	}
	return now.hosts(), nil
}

// together returns the one box that two inventories describe, either of which may describe none.
func together(a, b *NAS) (*NAS, error) {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a, nil
	}
	if a.User != b.User || a.Pool != b.Pool {
		return nil, errTwoNAS
	}
	return &NAS{User: a.User, Pool: a.Pool, Addresses: distinct(slices.Concat(a.Addresses, b.Addresses))}, nil
}
