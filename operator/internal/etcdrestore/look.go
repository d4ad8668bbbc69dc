package etcdrestore

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Data is what a control plane has of etcd.
type Data int

const (
	// Silent is a control plane that does not answer.
	Silent Data = iota
	// Unconfigured is a machine in maintenance mode.
	Unconfigured
	// None is a control plane with an empty data directory, which waits for a bootstrap or for a cluster to join.
	None
	// Some is a control plane with data of etcd, whether etcd works or not.
	Some
)

// ControlPlane is what was seen of a control plane.
type ControlPlane struct {
	rolling.Node
	Data Data
	// Boot is the ID of its boot; empty if it does not answer.
	Boot string
	// Problem is why it does not answer; nil for one that does.
	Problem error
}

// Look returns what each control plane has of etcd, in the order of the nodes.
func Look(ctx context.Context, talosconfig []byte, nodes []rolling.Node) []ControlPlane {
	seen := make([]ControlPlane, len(nodes))
	for i, node := range nodes {
		seen[i] = lookAt(ctx, talosconfig, node)
	}
	return seen
}

func lookAt(ctx context.Context, talosconfig []byte, node rolling.Node) ControlPlane {
	address, boot, has := node.Address.String(), "", false
	err := nodeops.Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) (err error) {
		if boot, err = nodeops.BootID(ctx, api); err != nil {
			return err
		}
		has, err = nodeops.HasEtcdData(ctx, api)
		return err
	})
	switch {
	case err == nil && has:
		return ControlPlane{Node: node, Data: Some, Boot: boot}
	case err == nil:
		return ControlPlane{Node: node, Data: None, Boot: boot}
	case nodeops.InMaintenance(ctx, address):
		return ControlPlane{Node: node, Data: Unconfigured}
	default:
		return ControlPlane{Node: node, Problem: err}
	}
}
