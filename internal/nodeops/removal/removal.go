// Package removal takes a worker out of a running cluster, before its machine is deleted.
package removal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// Worker is the worker that is removed, and how.
type Worker struct {
	// Name of its Kubernetes Node.
	Name string
	// Address where its Talos API is reached.
	Address string
	// Talosconfig of the cluster's administrator, with control planes as endpoints. Secret.
	Talosconfig []byte
	// DrainTimeout is how long PodDisruptionBudgets may hold pods back. Default: 0, one try.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still held back then; without it the removal fails.
	DeleteHeldBack bool
	// Progress is told each step, and what was left out.
	Progress io.Writer
}

const (
	// rebootTimeout is how long a node may not answer before it counts as dead, and silence is that for one whose Node is
	// not Ready: Kubernetes has missed it for most of a minute then.
	rebootTimeout = 3 * time.Minute
	silence       = 20 * time.Second
	// resetTimeout covers the wiping of two partitions and the shutdown.
	resetTimeout = 5 * time.Minute
	// interval between two tries of anything.
	interval = time.Second
)

// Run removes a worker: no new pods, the others moved, the node reset and turned off, its Node deleted. It may be run again
// after a failure, and goes on where it was. A worker that is dead is not drained or reset: its pods end with its Node.
// The error says what stands in the way and what to do; nothing was lost then.
func (w Worker) Run(ctx context.Context) error {
	api, err := nodeops.ReachKubernetes(ctx, w.Talosconfig)
	switch {
	case errors.Is(err, nodeops.ErrTalosconfig):
		return err
	case err != nil:
		return fmt.Errorf("%s is not removed, because no control plane answers (%w): %w", w.Name, err, errNoAPI)
	}
	defer api.Close()
	alive := w.isAlive(ctx, api)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("removing %s: %w", w.Name, context.Cause(ctx))
	}
	if !alive {
		w.say("warning: %s is dead: it is removed without being drained or reset", w.Name)
		return w.forget(ctx, api)
	}
	drain := nodeops.Drain{Node: w.Name, Timeout: w.DrainTimeout, DeleteHeldBack: w.DeleteHeldBack, Say: w.say}
	if err := api.Drain(ctx, drain); err != nil {
		return err
	}
	w.reset(ctx)
	return w.forget(ctx, api)
}

// isAlive gives a node that does not answer time for a reboot.
func (w Worker) isAlive(ctx context.Context, api *nodeops.Kubernetes) bool {
	began, alive := time.Now(), false
	ended := poll.Until(ctx, interval, func(ctx context.Context) (bool, error) {
		if alive = nodeops.IsAlive(ctx, w.Talosconfig, w.Address); alive {
			return true, nil
		}
		waited := time.Since(began)
		return waited > rebootTimeout || waited > silence && !api.IsReady(ctx, w.Name), nil
	})
	return ended == nil && alive
}

// reset makes the node forget the cluster. One that cannot be reset is not kept for that: its disk is deleted next.
func (w Worker) reset(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	if err := nodeops.Reset(ctx, w.Talosconfig, w.Address); err != nil {
		w.say("warning: %s is not reset (%v); its disks go with its machine", w.Name, err)
		return
	}
	w.say("%s is reset", w.Name)
}

// forget deletes the Node, if there is one.
func (w Worker) forget(ctx context.Context, api *nodeops.Kubernetes) error {
	if err := api.DeleteNode(ctx, w.Name); err != nil {
		return fmt.Errorf("delete Node %s: %w: run up again", w.Name, err)
	}
	w.say("%s is no longer a Node of the cluster", w.Name)
	return nil
}

func (w Worker) say(format string, args ...any) {
	fmt.Fprintf(w.Progress, format+"\n", args...)
}

// errNoAPI says what to do where nothing can be drained.
var errNoAPI = errors.New("start a control plane, then run up again; to delete the whole cluster instead, run destroy")
