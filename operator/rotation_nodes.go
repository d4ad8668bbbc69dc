package operator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// nodesInState returns the nodes of the state, control planes first: a rotation reaches those that exist, whatever the inventory says.
func (s *session) nodesInState(ctx context.Context) ([]rolling.Node, error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	controlPlanes := state.ControlPlaneAddresses(exported.Deployment)
	var first, then []rolling.Node
	for _, machine := range state.ConfiguredMachines(exported.Deployment) {
		address, err := netip.ParseAddr(machine.Address)
		if err != nil || !machine.Joined {
			return nil, fmt.Errorf("%s has not joined the cluster yet: run `em-infra up` first", machine.Name)
		}
		node := rolling.Node{Name: machine.Name, Address: address, ControlPlane: slices.Contains(controlPlanes, machine.Address)}
		if node.ControlPlane {
			first = append(first, node)
		} else {
			then = append(then, node)
		}
	}
	return append(first, then...), nil
}

// health returns the access to all nodes with a talosconfig.
func (r *secretsRun) health(talosconfig []byte) nodeops.Health {
	return nodeops.Health{Talosconfig: talosconfig, Nodes: r.nodes, Say: func(format string, args ...any) {
		r.emit(Progress{Part: "rotate", What: fmt.Sprintf(format, args...)})
	}}
}

// onEach does something on each node, control planes first, one after the other. The error names the node.
func (r *secretsRun) onEach(do func(rolling.Node) error) error {
	for _, node := range r.nodes {
		if err := do(node); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	return nil
}
