// Package upgrade brings another release of Talos to one node, in place: the other slot of its disk is written, and the node
// boots it.
package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// Node is the node to upgrade, and how.
type Node struct {
	// Name of the node. Required.
	Name string
	// Address of its Talos API. Required.
	Address string
	// ControlPlane reports whether the node runs etcd.
	ControlPlane bool
	// Image is the installer image of the wanted release, e.g. factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.11. Required.
	Image string
	// Talosconfig of the cluster's administrator. Secret. Required.
	Talosconfig []byte
	// Limits of the waits. Default: those of each field.
	Limits Limits
	// Progress receives a message for each step. No message has a time of day: the output of a Command is kept in the state.
	// Required.
	Progress io.Writer
}

// Limits are the longest times to wait.
type Limits struct {
	// Answer is how long a node may take until it answers and has ended what it is doing. Default: 5 minutes.
	Answer time.Duration
	// Lock is how long another upgrade may hold the lock of etcd. Default: 3 minutes; Talos' lease ends after one
	// (v1alpha1_server.go, MinimumEtcdUpgradeLeaseLockSeconds).
	Lock time.Duration
	// Pull is how long the node may take to download the image. Default: 15 minutes, for 600 MiB over 6 Mbit/s.
	Pull time.Duration
	// Boot is how long the node may take from the order to the first answer of its next boot. Default: 15 minutes.
	Boot time.Duration
	// Interval between two looks at the node. Default: half a second.
	Interval time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Answer = cmp.Or(l.Answer, 5*time.Minute)
	l.Lock = cmp.Or(l.Lock, 3*time.Minute)
	l.Pull = cmp.Or(l.Pull, 15*time.Minute)
	l.Boot = cmp.Or(l.Boot, 15*time.Minute)
	l.Interval = cmp.Or(l.Interval, 500*time.Millisecond)
	return l
}

// Run upgrades the node to the release of Image, and returns when the node answers with that release in a new boot. A node that
// runs the release already is not touched, so that Run can be repeated after any failure. The caller calls [Node.Fetch] and drains the node before,
// and waits afterwards until it works. The error is one sentence that ends with what to do.
func (n Node) Run(ctx context.Context) error {
	n.Limits = n.Limits.withDefaults()
	c, needed, err := n.attempt(ctx, n.prepareEtcd)
	before, wanted := c.before, c.wanted
	if err != nil {
		return err
	}
	if !needed {
		n.say("%s runs %s", n.Name, before.Release)
		return nil
	}
	events := n.follow(ctx)
	defer events.end()
	n.say("%s: %s → %s", n.Name, before.Release, wanted)
	if err := n.order(ctx, before, events); err != nil {
		return err
	}
	after, err := n.nextBoot(ctx, before, events)
	if err != nil {
		return err
	}
	if !after.Release.Satisfies(wanted) {
		return n.cameBackWith(after.Release, wanted, events)
	}
	n.say("%s runs %s", n.Name, after.Release)
	return nil
}

// comparison is what a node runs, and what it is to run.
type comparison struct {
	before nodeops.Running
	wanted nodeops.Release
}

// attempt compares the node and, if it is to be upgraded, does the work. If the node goes away meanwhile, it carries out the order of a run that was
// just killed, so it is compared once more when it is back.
func (n Node) attempt(ctx context.Context, work func(context.Context) error) (c comparison, needed bool, err error) {
	for isFirst := true; ; isFirst = false {
		if c, needed, err = n.comparison(ctx); err != nil || !needed {
			return c, false, err
		}
		if err = work(ctx); err == nil {
			return c, true, nil
		}
		if !isFirst || ctx.Err() != nil || !n.hasBegun(ctx, c.before) {
			return c, false, err
		}
	}
}

// comparison waits until the node has ended what it is doing, and reports whether it is to be upgraded. The error is why it must
// not be.
func (n Node) comparison(ctx context.Context) (c comparison, needed bool, err error) {
	if c.wanted, err = nodeops.ReleaseOf(n.Image); err != nil {
		return c, false, fmt.Errorf("%s is untouched: %w", n.Name, err)
	}
	if c.before, err = n.settled(ctx, c.wanted); err != nil || c.before.Release.Satisfies(c.wanted) {
		return c, false, err
	}
	return c, true, n.allows(c.before.Release, c.wanted)
}

func (n Node) look(ctx context.Context) (nodeops.Running, error) {
	return nodeops.LookAt(ctx, n.Talosconfig, n.Address)
}

func (n Node) say(format string, args ...any) {
	fmt.Fprintf(n.Progress, format+"\n", args...)
}
