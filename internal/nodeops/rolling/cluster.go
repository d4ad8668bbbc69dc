// Package rolling takes the nodes of a cluster through changes a few at a time, and stops where a node does not come back.
package rolling

import (
	"context"
	"net/netip"
)

// Node is one node of a cluster.
type Node struct {
	// Name of the machine and of its Kubernetes Node.
	Name string
	// Address where the node's Talos API is reached.
	Address netip.Addr
	// ControlPlane reports whether the node runs etcd.
	ControlPlane bool
}

// Change is what is about to be done to a node.
type Change struct {
	// Node that is changed.
	Node Node
	// Configuration is the machine configuration that is about to be applied, secret; nil when the machine itself changes.
	Configuration []byte
	// Reboots says that the change of the machine reboots it. Whether a configuration does, the node itself says.
	Reboots bool
	// SwitchesOn says that the machine is off before the change and on after it. Such a change takes nothing from the cluster,
	// and others may be waiting for just that node.
	SwitchesOn bool
}

// Condition says what still keeps a node from working; nil when nothing does.
type Condition func(ctx context.Context) error

// Terms are what a node is changed on.
type Terms struct {
	// Drain says that the node's pods have to move before the change.
	Drain bool
	// Back holds when the node works again; nil where there is nothing to wait for.
	Back Condition
}

// Cluster knows how its nodes are.
type Cluster interface {
	// Spare says on what terms the cluster can do without the changed node for a while, besides the busy ones, which are being
	// changed already. The error is what is wrong with the rest, or what cannot be seen.
	Spare(ctx context.Context, change Change, busy []Node) (Terms, error)
	// IsOff reports whether the machine of a node is switched off; false where that cannot be seen.
	IsOff(ctx context.Context, node Node) bool
	// Drain keeps new pods from a node and moves those that are there. The error is a sentence that says which ones stay and
	// what to do.
	Drain(ctx context.Context, node Node) error
	// Uncordon lets new pods onto all nodes that Drain has kept them from, in this run or in one that was interrupted, except
	// for the busy ones.
	Uncordon(ctx context.Context, busy []Node) error
}
