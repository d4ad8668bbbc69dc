// Package rolling changes the nodes of a cluster a few at a time, and stops when a changed node does not work again.
package rolling

import (
	"context"
	"net/netip"
	"time"
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

// Names returns the names of nodes, in their order.
func Names(nodes []Node) []string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

// Change describes the next change of a node.
type Change struct {
	// Node to change.
	Node Node
	// Configuration is the machine configuration to apply, secret; nil when the machine itself changes.
	Configuration []byte
	// Reboots reports whether the change of the machine reboots it. Whether a configuration does so is read from the node.
	Reboots bool
	// Adds reports whether the node does not run before the change and runs after it: its machine is switched on, or is a new one that gets
	// its configuration. Such a change removes nothing from the cluster, and other nodes may be waiting for this one.
	Adds bool
	// Joins reports whether the node is a control plane whose new machine gets its configuration, and becomes a member of etcd with it. Only one such
	// node changes at a time, but it goes before nodes that still wait for the rest of the cluster, because they may be waiting for this one.
	Joins bool
	// Yields lets other nodes that arrive soon go first, as the leader of etcd does in an upgrade: its leadership then moves once
	// and not with each node.
	Yields bool
	// MinReady is how long this node must work before the next node may change, if that is longer than the lane's. Default: 0.
	MinReady time.Duration
}

// Condition returns why a node does not work yet; nil when it works.
type Condition func(ctx context.Context) error

// Terms are the conditions for the change of a node.
type Terms struct {
	// Drain reports whether the node must be drained before the change.
	Drain bool
	// Back returns nil when the node works again; Back itself is nil if there is nothing to wait for.
	Back Condition
}

// Cluster gives access to the state of the nodes.
type Cluster interface {
	// Spare returns the terms on which the cluster can spare the changed node for a while, in addition to the busy nodes,
	// which are already being changed. The error is what is wrong with the other nodes, or what cannot be read.
	Spare(ctx context.Context, change Change, busy []Node) (Terms, error)
	// IsOff reports whether the machine of a node is switched off; false if that is unknown.
	IsOff(ctx context.Context, node Node) bool
	// Drain cordons a node and evicts its pods. The error is a sentence that names the remaining pods and what to do.
	Drain(ctx context.Context, node Node) error
	// Uncordon uncordons all nodes that Drain has cordoned, in this run or in an interrupted one, except for the busy nodes. It calls busy after it
	// has read which nodes are cordoned, because a node may be drained meanwhile.
	Uncordon(ctx context.Context, busy func() []Node) error
}
