package operator

import (
	"context"
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// outOfBand contains changes that the engine and its refresh do not detect: providers read no machine configurations and only parts
// of a machine, and resources in the cluster cannot be read while its API does not answer.
type outOfBand struct {
	ByHand   []byHand
	Unread   []string // what could not be read, one clause each
	NoAnswer string   // why the Kubernetes API does not answer; empty if it does
	Running  running  // the versions of the nodes that answered
	// Differences describe the changes of ByHand that the properties of a Command do not show.
	Differences []drift.Difference
}

// byHand is a change that the providers do not detect.
type byHand struct {
	urn       resource.URN
	paths     []string       // of a machine configuration
	running   []byte         // the machine configuration of the node, secret
	have      map[string]any // the host's values of a machine, or [drift.Undone] for a missing pool
	described bool           // by Differences, which show it better than the properties
}

// FindOutOfBand compares the host, the nodes and the Kubernetes API of an existing cluster with the state, concurrently. It does
// nothing if the engine does not refresh.
func (c comparison) FindOutOfBand(ctx context.Context) (outOfBand, error) {
	if !c.engine.refresh {
		return outOfBand{}, nil
	}
	exported, err := c.engine.state.Seen(ctx)
	if err != nil {
		return outOfBand{}, err
	}
	applied, err := state.AppliedConfigurations(exported.Deployment)
	if err != nil {
		return outOfBand{}, err
	}
	kubeconfig, talosconfig, err := state.ClusterCredentials(exported.Deployment)
	if err != nil || talosconfig == "" {
		return outOfBand{}, err
	}
	var (
		host, nodes outOfBand
		noAnswer    string
		all         sync.WaitGroup
	)
	all.Go(func() { host.askHost(ctx, c.host, exported.Deployment, c.inventory.Cluster.Proxmox.Pool) })
	all.Go(func() {
		nodes.askNodes(ctx, status.Sources{Inventory: c.inventory, Talosconfig: []byte(talosconfig)}, applied, state.Memberships(exported.Deployment))
	})
	if slices.ContainsFunc(exported.Deployment.Resources, isInCluster) {
		all.Go(func() { noAnswer = whyNoAnswer(ctx, []byte(kubeconfig)) })
	}
	all.Wait()
	return outOfBand{
		ByHand: append(host.ByHand, nodes.ByHand...), Unread: append(host.Unread, nodes.Unread...), NoAnswer: noAnswer, Running: nodes.Running,
	}, ctx.Err()
}

// mark adds the changes by hand to the steps of a preview.
func (l outOfBand) mark(steps []plan.Step) {
	for _, changed := range l.ByHand {
		for i := range steps {
			switch {
			case steps[i].URN != changed.urn:
			case changed.have != nil:
				steps[i].Differ(changed.have)
			default:
				steps[i].ByHand = changed.paths
			}
		}
	}
}

// unasked returns a sentence for everything that was not compared.
func (l outOfBand) unasked() []string {
	if l.NoAnswer == "" {
		return l.Unread
	}
	return append(l.Unread, "what is in the cluster: "+l.NoAnswer)
}

// excluded returns the options that exclude the resources in the cluster from a preview if its API does not answer.
func (l outOfBand) excluded() []optpreview.Option {
	if l.NoAnswer == "" {
		return nil
	}
	return []optpreview.Option{optpreview.Exclude([]string{span.InCluster})}
}

// note writes the changes by hand into the state, so that the engine reverts them node by node like any other change.
func (l outOfBand) note(ctx context.Context, state *stackstate.State) error {
	if len(l.ByHand) == 0 {
		return nil
	}
	exported, err := state.Fresh(ctx)
	if err != nil {
		return err
	}
	for _, changed := range l.ByHand {
		if changed.have != nil {
			drift.NoteMachine(&exported.Deployment, changed.urn, changed.have)
			continue
		}
		if err := drift.Note(&exported.Deployment, changed.urn, changed.running); err != nil {
			return err
		}
	}
	return state.Import(ctx, exported)
}
