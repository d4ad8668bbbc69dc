package rolling

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// drain drains a node. If that fails, or the cluster can no longer spare the node when that has ended, it uncordons the node.
func (l *Lane) drain(ctx context.Context, change Change) error {
	node := change.Node
	if err := l.makeRoom(ctx, node); err != nil {
		return err
	}
	if err := l.cluster.Drain(ctx, node); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s is untouched: %w", node.Name, errors.Join(err, l.takeBackDrain(ctx, node)))
	}
	if !node.ControlPlane {
		return nil
	}
	// A drain may take minutes, in which another member of etcd may have gone.
	if _, err := l.onceSpared(ctx, change); err != nil {
		return errors.Join(err, l.takeBackDrain(ctx, node))
	}
	return nil
}

// makeRoom uncordons the nodes that an ended run has left cordoned, so that the pods of the node that is drained next find room there.
func (l *Lane) makeRoom(ctx context.Context, node Node) error {
	err := l.await(ctx, wait{node, "whether the other nodes take pods is not known:", takeBackTimeout}, func(ctx context.Context) error { return l.cluster.Uncordon(ctx, l.besides(Node{})) })
	if ctx.Err() != nil {
		return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s is untouched, because nodes that a run has drained may still take no pods (%w): run up again when an API server answers", node.Name, err)
	}
	return nil
}

// besides returns a function that returns the nodes that are in the lane beside a node when it is called.
func (l *Lane) besides(node Node) func() []Node {
	return func() []Node { return l.visitors(node) }
}

// takeBackDrain uncordons an unchanged node, even after an interrupt.
func (l *Lane) takeBackDrain(ctx context.Context, node Node) error {
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), uncordonTimeout)
	defer cancel()
	if err := l.cluster.Uncordon(back, l.besides(node)); err != nil {
		return fmt.Errorf("%s takes no new pods (%w): run `kubectl uncordon %s`", node.Name, err, node.Name)
	}
	return nil
}

// Fail closes the lane as Abandon does. Then, even after an interrupt, it uncordons the node if it was drained and still runs, untouched or with what
// it ran before. The lane is closed first, so that it admits no waiting node. The error states that the node is still cordoned, and what to do.
func (l *Lane) Fail(ctx context.Context, node Node, runs Condition) error {
	drained := l.placeOf(node).terms.Drain
	l.Abandon(node)
	if !drained {
		return nil
	}
	seen, cancel := context.WithTimeout(context.WithoutCancel(ctx), uncordonTimeout)
	defer cancel()
	if err := runs(seen); err != nil {
		return fmt.Errorf("%s takes no new pods, because it was drained and does not run (%w): mend that node, then run up again, or run `kubectl uncordon %s` when it runs", node.Name, err, node.Name)
	}
	return l.takeBackDrain(ctx, node)
}

// TakeBack uncordons a node that was drained and changed by a run that was ended. The node has no place in the lane, and may just have
// booted.
func (l *Lane) TakeBack(ctx context.Context, node Node) error {
	err := l.await(ctx, wait{node, "whether it takes pods is not known:", takeBackTimeout}, func(ctx context.Context) error { return l.cluster.Uncordon(ctx, l.besides(node)) })
	if err != nil {
		return fmt.Errorf("%s may take no new pods (%w): run `kubectl uncordon %s` when an API server answers", node.Name, err, node.Name)
	}
	return nil
}

// takeBackTimeout allows for the API server of a single control plane that has just booted.
const takeBackTimeout = 2 * time.Minute

// uncordonTimeout allows for a slow API server.
const uncordonTimeout = 30 * time.Second

// uncordon retries, because the API server may run on the node itself and start late.
func (l *Lane) uncordon(ctx context.Context, node Node) error {
	err := l.await(ctx, wait{node, "it works, and takes no pods yet:", uncordonTimeout}, func(ctx context.Context) error { return l.cluster.Uncordon(ctx, l.besides(node)) })
	if err != nil {
		return fmt.Errorf("%s works again, but takes no new pods (%w): run `kubectl uncordon %s`, then run up again", node.Name, err, node.Name)
	}
	return nil
}
