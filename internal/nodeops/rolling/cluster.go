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
	// ControlPlane says whether the node runs etcd.
	ControlPlane bool
}

// Change is what is about to be done to a node.
type Change struct {
	// Node that is changed.
	Node Node
	// Configuration is the machine configuration that is about to be applied, secret; nil when the machine itself changes.
	Configuration []byte
}

// Condition says what still keeps a node from working; nil when nothing does.
type Condition func(ctx context.Context) error

// Cluster knows how its nodes are.
type Cluster interface {
	// Spare says whether the cluster can do without the changed node for a while, besides the busy ones, which are being
	// changed already. The error is what is wrong with the rest. The condition holds when the node works again.
	Spare(ctx context.Context, change Change, busy []Node) (Condition, error)
}
