package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

const (
	// nodePatience is how long a node may take to work with another secret: a control plane pulls no image for it, and its static pods
	// start again.
	nodePatience = 10 * time.Minute
	// nodeInterval is the longest time between two looks at a node.
	nodeInterval = time.Second
)

// checkNodes refuses to begin while a node does not answer: the rotation could not end.
func (r *secretsRun) checkNodes(ctx context.Context) error {
	talosconfig, err := r.cluster.administrator(ctx)
	if err != nil {
		return err
	}
	return r.onEach(func(node rolling.Node) error {
		if err := versionOf(ctx, talosconfig, node); err != nil {
			return fmt.Errorf("%w: bring it back, or remove it from the cluster, then try again", err)
		}
		return nil
	})
}

// health returns the access to all nodes with a talosconfig.
func (r *secretsRun) health(talosconfig []byte) nodeops.Health {
	return nodeops.Health{Talosconfig: talosconfig, Nodes: r.nodes, Say: func(format string, args ...any) {
		r.emit(Progress{Part: "rotate", What: fmt.Sprintf(format, args...)})
	}}
}

func (r *secretsRun) addresses() []string {
	var addresses []string
	for _, node := range r.nodes {
		if node.ControlPlane {
			addresses = append(addresses, node.Address.String())
		}
	}
	return addresses
}

// onEach does something on each node, control planes first, one after the other. The error names the node.
func (r *secretsRun) onEach(do func(rolling.Node) error) error { return inTurn(r.nodes, do) }

// inTurn does something on one node after the other. The error names the node.
func inTurn(nodes []rolling.Node, do func(rolling.Node) error) error {
	for _, node := range nodes {
		if err := do(node); err != nil {
			return fmt.Errorf("%s: %w", node.Name, err)
		}
	}
	return nil
}

// within limits the work on one node.
func (r *secretsRun) within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, nodePatience)
	defer cancel()
	err := do(limited)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answers returns the check that a node answers to a talosconfig, after a while.
func (r *secretsRun) answers(talosconfig []byte) func(context.Context, rolling.Node) error {
	return func(ctx context.Context, node rolling.Node) error {
		return awaited(ctx, func(ctx context.Context) error { return versionOf(ctx, talosconfig, node) })
	}
}

// refuses returns the check that a node refuses a talosconfig, after a while.
func (r *secretsRun) refuses(talosconfig []byte) func(context.Context, rolling.Node) error {
	return func(ctx context.Context, node rolling.Node) error {
		return awaited(ctx, func(ctx context.Context) error {
			if versionOf(ctx, talosconfig, node) == nil {
				return errors.New("it still accepts the old CA")
			}
			return nil
		})
	}
}

// awaited waits until a condition holds. If ctx ends before, the error is the last one of the condition.
func awaited(ctx context.Context, holds func(context.Context) error) error {
	last := errors.New("no answer")
	if poll.Until(ctx, nodeInterval, func(ctx context.Context) (bool, error) {
		if err := holds(ctx); err == nil || ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	}) != nil {
		return last
	}
	return nil
}

func versionOf(ctx context.Context, talosconfig []byte, node rolling.Node) error {
	return nodeops.Ask(ctx, talosconfig, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.Version(ctx)
		return err
	})
}
