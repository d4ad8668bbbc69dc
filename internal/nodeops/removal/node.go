// Package removal removes a node from a running cluster before its machine is deleted.
package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// Node is the node to remove, and how.
type Node struct {
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
	// Progress receives a message for each step, and for each step that was skipped. Required.
	Progress io.Writer

	// patience is how long a node whose kubelet reports may be silent, and how long all control planes that could drain it may be silent. Default:
	// rebootTimeout.
	patience time.Duration
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

// RemoveWorker removes a worker: it cordons and drains the node, resets it, turns it off and deletes its Node. After a failure it can run again and
// resumes. A dead worker is neither drained nor reset: its pods end with its Node. A worker whose kubelet reports while its Talos API cannot be
// reached runs pods, so it is drained. The error states what failed and what to do; in that case nothing was lost.
func (n Node) RemoveWorker(ctx context.Context) error {
	endpoints, err := nodeops.Endpoints(n.Talosconfig)
	if err != nil {
		return err
	}
	api, err := n.awaitKubernetes(ctx, endpoints)
	if err != nil {
		return err
	}
	defer api.Close()
	seen, err := n.look(ctx, api)
	if err != nil {
		return err
	}
	if seen == dead {
		n.say("warning: %s is dead: it is removed without being drained or reset", n.Name)
		return n.forget(ctx, api)
	}
	if err := n.drain(ctx, api); err != nil {
		return err
	}
	if seen == unreachable {
		n.say("warning: %s is not reset, because its Talos API at %s cannot be reached from here although its kubelet reports; its disks go with its machine", n.Name, n.talosAPI())
	} else {
		n.reset(ctx)
	}
	return n.forget(ctx, api)
}

// RestoredVariable is the environment variable in which em-infra passes the name of the only control plane, when its machine is
// replaced: etcd is restored on the new one from a snapshot that em-infra has.
const RestoredVariable = "EM_INFRA_RESTORED_CONTROL_PLANE"

// Abandon resets the only control plane and turns it off. There is no node to drain to, and no other control plane that could remove its member from
// etcd or delete its Node; both are in the snapshot that its next machine begins with.
func (n Node) Abandon(ctx context.Context) {
	n.say("%s is the only control plane: etcd is restored on its next machine", n.Name)
	n.reset(ctx)
}

// awaitKubernetes returns the Kubernetes API of one of the control planes, and waits while none answers: the run that removes the worker may
// just be switching one on.
func (n Node) awaitKubernetes(ctx context.Context, controlPlanes []string) (api *nodeops.Kubernetes, err error) {
	limit := cmp.Or(n.patience, rebootTimeout)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	isTold := false
	_ = poll.Until(limited, interval, func(context.Context) (bool, error) { // the result of the last try is returned
		api, err = n.kubernetes(ctx, controlPlanes)
		if err != nil && !errors.Is(err, nodeops.ErrTalosconfig) && !isTold {
			isTold = true
			n.say("%s waits until a control plane answers, %s at most", n.Name, poll.InWords(limit))
		}
		return err == nil || errors.Is(err, nodeops.ErrTalosconfig), nil
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("removing %s: %w", n.Name, context.Cause(ctx))
	}
	return api, err
}

// kubernetes returns the Kubernetes API of one of the control planes.
func (n Node) kubernetes(ctx context.Context, controlPlanes []string) (*nodeops.Kubernetes, error) {
	api, err := nodeops.ReachKubernetesAt(ctx, n.Talosconfig, controlPlanes)
	if err != nil && !errors.Is(err, nodeops.ErrTalosconfig) {
		err = fmt.Errorf("%s is not removed, because no control plane answers (%w): %w", n.Name, err, errNoAPI)
	}
	return api, err
}

func (n Node) drain(ctx context.Context, api *nodeops.Kubernetes) error {
	return api.Drain(ctx, nodeops.Drain{Node: n.Name, Timeout: n.DrainTimeout, DeleteHeldBack: n.DeleteHeldBack, Say: n.say})
}

// reset wipes what the node knows of the cluster. A failed reset is only a warning, because the disk is deleted next.
func (n Node) reset(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	if err := nodeops.Reset(ctx, n.Talosconfig, n.Address); err != nil {
		n.say("warning: %s is not reset (%v); its disks go with its machine", n.Name, err)
		return
	}
	n.say("%s is reset", n.Name)
}

// forget deletes the Node, if there is one.
func (n Node) forget(ctx context.Context, api *nodeops.Kubernetes) error {
	if err := api.DeleteNode(ctx, n.Name); err != nil {
		return fmt.Errorf("delete Node %s: %w: run up again", n.Name, err)
	}
	n.say("%s is no longer a Node of the cluster", n.Name)
	return nil
}

func (n Node) say(format string, args ...any) {
	fmt.Fprintf(n.Progress, format+"\n", args...)
}

// errNoAPI is what to do when no API server can drain the node.
var errNoAPI = errors.New("start a control plane, then run up again; to delete the whole cluster instead, run destroy")
