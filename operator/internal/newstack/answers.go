package newstack

import (
	"cmp"
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// Site is what a new stack has to fit into.
type Site struct {
	// Found is what stands on the hosts.
	Found preflight.Snapshot
	// Beside are the other stacks of the project on these hosts.
	Beside []inventory.Beside
	// Makers are the stacks of hosts among them.
	Makers preflight.Makers
	// Pools are the names of the pools of the NAS. Default: nil, no NAS was named.
	Pools []string
}

// Answers are what a person says about a new stack. What is left out is proposed.
type Answers struct {
	// Stack is the name of the stack. Required.
	Stack string
	// Kind is what the stack brings up. Default: a cluster. A stack of hosts needs the hosts alone, and one of systems no numbers of nodes
	// and no cluster; such answers are refused for them.
	Kind manifest.Kind
	// Cluster is the name of the cluster, and the beginning of the names of its nodes. Default: that of the stack.
	Cluster string
	// Hosts are the nodes of Proxmox VE that the machines are spread over. Default: all that are online.
	Hosts []string
	// Bridge that the nodes are attached to. Default: vmbr0, or else the first one that all hosts have.
	Bridge string
	// VLAN tag of the nodes' cards. Default: 0, none.
	VLAN int
	// Network of the nodes, IPv4. Default: that of the bridge, if the hosts have addresses on it and there is no VLAN; else required.
	Network netip.Prefix
	// Gateway of the network. Default: that of the bridge, or else the first address of the network.
	Gateway netip.Addr
	// FirstAddress is the first of the addresses for the Kubernetes API and the nodes; those that are in use are left out. Default: the tenth
	// of the network, or the second of a network with fewer than 32.
	FirstAddress netip.Addr
	// ControlPlanes is 1, 3 or 5. Default: 3 on three hosts or more, else 1.
	ControlPlanes int
	// Workers is the number of workers without a GPU. Default: nil, which means 1.
	Workers *int
	// GPUWorkers is the number of workers with a GPU each. Default: 0.
	GPUWorkers int
	// ISOStorage holds the ISO of Talos. Default: one with content type iso on all hosts.
	ISOStorage string
	// DiskStorage holds the disks. Default: one with content type images on all hosts.
	DiskStorage string
	// NAS has storage for the cluster. Default: none.
	NAS NAS
}

// kind returns the kind with its default.
func (a Answers) kind() manifest.Kind { return cmp.Or(a.Kind, manifest.Platform) }

// workers returns the number of workers without a GPU.
func (a Answers) workers() int {
	if a.Workers == nil {
		return 1
	}
	return *a.Workers
}
