// Package kubernetesupgrade moves the Kubernetes of a running cluster to another version, node by node, in the order of
// `talosctl upgrade-k8s` (decision 57).
package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/versions"
)

// Upgrade is the upgrade of one cluster.
type Upgrade struct {
	// Talosconfig of the cluster's administrator, with control planes as endpoints. Secret.
	Talosconfig []byte
	// Nodes are those of the inventory, control planes first. Each is upgraded, and no other one.
	Nodes []rolling.Node
	// To is the version that everything runs in the end.
	To versions.Version
	// Progress receives a line for each step. It never receives a secret.
	Progress io.Writer
	// Limits of the waits. Default: those of a slow host.
	Limits Limits
}

// Limits are the longest times to wait for what an upgrade needs and causes.
type Limits struct {
	// API is for a Kubernetes API that answers. Default: 10 minutes, since machines may be starting.
	API time.Duration
	// Nodes is for nodes that answer and are Ready before anything is changed. Default: 3 minutes, for those that a killed run
	// has left in the middle of a restart.
	Nodes time.Duration
	// Pull is for one image on one node. Default: 10 minutes.
	Pull time.Duration
	// Component is for one component on one node to run with its new version. Default: 10 minutes.
	Component time.Duration
	// Manifests is for the objects of Talos' manifests to be compared and changed, and then for each workload among them to be rolled out.
	// Default: 10 minutes.
	Manifests time.Duration
	// Interval is the time between two checks. Default: 1 second.
	Interval time.Duration
}

func (l Limits) withDefaults() Limits {
	for _, limit := range []struct {
		value *time.Duration
		usual time.Duration
	}{
		{&l.API, 10 * time.Minute}, {&l.Nodes, 3 * time.Minute}, {&l.Pull, 10 * time.Minute},
		{&l.Component, 10 * time.Minute}, {&l.Manifests, 10 * time.Minute}, {&l.Interval, time.Second},
	} {
		if *limit.value == 0 {
			*limit.value = limit.usual
		}
	}
	return l
}

// Run upgrades the cluster: the API servers one control plane after the other, the controller managers, the schedulers, kube-proxy with the other
// manifests of Talos, and the kubelets last. It skips what already runs the version, so the next run continues a run that was killed, and a run that
// finds nothing to do changes nothing. Kubelets are last, so a cluster whose kubelets all run the version has been upgraded as a whole.
//
// The error is one sentence that states what is missing and what to do.
func (u Upgrade) Run(ctx context.Context) error {
	u.Limits = u.Limits.withDefaults()
	err := u.awaitAPI(ctx)
	if errors.Is(err, errNotNeeded) {
		u.say("Kubernetes %s is in the configuration of every node that answers; its API does not answer, and is not waited for", u.To)
		return nil
	}
	if err != nil {
		return err
	}
	seen, err := u.survey(ctx)
	if err != nil {
		return err
	}
	if seen.runs(u.To) {
		u.say("Kubernetes %s runs on all nodes", u.To)
		return nil
	}
	return u.move(ctx, seen)
}

// move upgrades a cluster that does not run the version yet.
func (u Upgrade) move(ctx context.Context, seen *survey) error {
	for _, check := range []func(context.Context, *survey) error{
		u.checkNodeless, u.checkStep, u.checkControlPlane, u.checkNodes, u.checkRemoved, u.pull, u.forgetFormer,
	} {
		if err := check(ctx, seen); err != nil {
			return fmt.Errorf("Kubernetes stays as it is: %w", err) //nolint:staticcheck // Kubernetes is a name
		}
	}
	for _, component := range components {
		for _, node := range seen.controlPlanes() {
			if err := u.upgradeStaticPod(ctx, component, node); err != nil {
				return err
			}
		}
	}
	if err := u.upgradeProxy(ctx, seen.controlPlanes()); err != nil {
		return err
	}
	if err := u.syncManifests(ctx, seen); err != nil {
		return err
	}
	for _, node := range seen.members {
		if err := u.unlessReplaced(ctx, node, u.upgradeKubelet(ctx, node, seen.networked)); err != nil {
			return err
		}
	}
	u.say("Kubernetes %s runs on all nodes", u.To)
	return nil
}

func (u Upgrade) say(format string, args ...any) { fmt.Fprintf(u.Progress, format+"\n", args...) }

// health returns the checks of the cluster's nodes.
func (u Upgrade) health() nodeops.Health {
	return nodeops.Health{Talosconfig: u.Talosconfig, Nodes: u.Nodes}
}
