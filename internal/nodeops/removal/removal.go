// Package removal removes a worker from a running cluster before its machine is deleted.
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

// Worker is the worker to remove, and how.
type Worker struct {
	// Name of its Kubernetes Node.
	Name string
	// Address of its Talos API.
	Address string
	// Talosconfig of the cluster's administrator, with control planes as endpoints. Secret.
	Talosconfig []byte
	// DrainTimeout is the longest time to wait for PodDisruptionBudgets. Default: 0, one try.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that remain after DrainTimeout. Without it the removal fails.
	DeleteHeldBack bool
	// Progress receives a message for each step, and for each step that was skipped.
	Progress io.Writer
}

const (
	// A node that does not answer counts as dead after rebootTimeout, or after silence if its Node is not Ready: Kubernetes
	// has then missed it for most of a minute.
	rebootTimeout = 3 * time.Minute
	silence       = 20 * time.Second
	// resetTimeout covers wiping two partitions and the shutdown.
	resetTimeout = 5 * time.Minute
	// interval is the time between two attempts.
	interval = time.Second
)

// Run removes a worker: it cordons and drains the node, resets it, turns it off and deletes its Node. After a failure it can
// run again and resumes. A dead worker is neither drained nor reset: its pods end with its Node. The error states what failed
// and what to do; in that case nothing was lost.
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

// isAlive reports whether the node answers. It gives a silent node time for a reboot.
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

// reset wipes what the node knows of the cluster. A failed reset is only a warning, because the disk is deleted next.
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

// errNoAPI is what to do when no API server can drain the node.
var errNoAPI = errors.New("start a control plane, then run up again; to delete the whole cluster instead, run destroy")
