package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// RollbackOptions are the options of [Operator.Rollback].
type RollbackOptions struct {
	// Node is the name of the node to roll back. Required.
	Node string
	// DrainTimeout is how long to wait for pods that PodDisruptionBudgets protect. Default: 0, no wait.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still protected after the timeout. Default: false, the rollback ends with an error.
	DeleteHeldBack bool
}

// Rollback returns one node to the release of Talos before its last upgrade, after consent, when the cluster can do without it. The
// inventory and the state stay as they are, so the next [Operator.Up] upgrades the node again.
func (o *Operator) Rollback(ctx context.Context, options RollbackOptions) error {
	s, err := o.begin(ctx, needs{consent: "roll " + options.Node + " back to its former release of Talos"})
	if err != nil {
		return err
	}
	defer s.recovery.Release(ctx)
	if err := s.recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	health, err := s.reboots().health(ctx, options.DrainTimeout, options.DeleteHeldBack)
	if err != nil {
		return err
	}
	nodes, err := chosenNodes(health.Nodes, []string{options.Node})
	if err != nil {
		return refused(err)
	}
	if err := s.consent.ask(ctx); err != nil {
		return err
	}
	began := s.clock.Now()
	before, after, err := rollBack(ctx, rolling.NewLane(health, rolling.Options{MinReady: s.inventory.Cluster.Upgrade.MinReady()}), health, nodes[0])
	if err != nil {
		return s.place.After("node rollback " + options.Node).CompleteError(err)
	}
	s.emit(Progress{Part: "rollback", What: fmt.Sprintf("%s runs %s again, and works", options.Node, after), Took: s.clock.Now().Sub(began)})
	s.emit(Rebooting{fmt.Sprintf("the inventory still asks for %s: the next `em-infra up` installs it on %s again, so change the inventory or fix the cause first", before, options.Node)})
	return nil
}

// rollBack takes a node through the lane.
func rollBack(ctx context.Context, lane *rolling.Lane, health nodeops.Health, node rolling.Node) (before, after nodeops.Release, err error) {
	if err := lane.Enter(ctx, rolling.Change{Node: node, Reboots: true}); err != nil {
		return before, after, err
	}
	bounded, cancel := context.WithTimeout(ctx, rebootPatience)
	defer cancel()
	before, after, err = health.Rollback(bounded, node)
	var untouched *nodeops.UntouchedError
	switch {
	case errors.As(err, &untouched):
		return before, after, errors.Join(err, lane.Decline(ctx, node))
	case err != nil:
		return before, after, errors.Join(err, lane.Fail(ctx, node, health.Running(node)))
	default:
		return before, after, lane.Leave(ctx, node)
	}
}
