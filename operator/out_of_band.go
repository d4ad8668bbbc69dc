package operator

import (
	"context"
	"slices"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// outOfBand is what was changed beside the engine and its own refresh does not find out: providers read no machine configuration,
// and not all of a machine, and what is in a cluster stays as it is while nobody answers there.
type outOfBand struct {
	byHand   []byHand
	unread   []string // what could not be asked, a clause each
	noAnswer string   // why the Kubernetes API does not answer for what is in the cluster; empty when it does
}

// byHand is what somebody has changed behind the providers' back.
type byHand struct {
	urn     resource.URN
	paths   []string       // of a machine configuration
	running []byte         // the machine configuration that a node runs, secret
	have    map[string]any // what the host has of a machine, or no longer has of a pool
}

// findOutOfBand asks the host, the nodes and the Kubernetes API of a stack that has been brought up, at the same time, unless the state
// is to be taken as it is.
func (s *session) findOutOfBand(ctx context.Context) (outOfBand, error) {
	if !s.refresh {
		return outOfBand{}, nil
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return outOfBand{}, err
	}
	applied, err := drift.Applied(exported.Deployment)
	if err != nil {
		return outOfBand{}, err
	}
	kubeconfig, talosconfig, err := engine.ClusterCredentials(exported.Deployment)
	if err != nil || talosconfig == "" {
		return outOfBand{}, err
	}
	var (
		host, nodes outOfBand
		noAnswer    string
		all         sync.WaitGroup
	)
	all.Go(func() { host.askHost(ctx, s.host, exported.Deployment, s.inventory.Cluster.Proxmox.Pool) })
	all.Go(func() {
		nodes.askNodes(ctx, status.Sources{Inventory: s.inventory, Talosconfig: []byte(talosconfig)}, applied)
	})
	if slices.ContainsFunc(exported.Deployment.Resources, isInCluster) {
		all.Go(func() { noAnswer = whyNoAnswer(ctx, []byte(kubeconfig)) })
	}
	all.Wait()
	return outOfBand{byHand: append(host.byHand, nodes.byHand...), unread: append(host.unread, nodes.unread...), noAnswer: noAnswer}, ctx.Err()
}

// mark notes on the steps of a preview what was changed by hand.
func (l outOfBand) mark(steps []plan.Step) {
	for _, changed := range l.byHand {
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

// unasked are the sentences about what was not compared.
func (l outOfBand) unasked() []string {
	if l.noAnswer == "" {
		return l.unread
	}
	return append(l.unread, "what is in the cluster: "+l.noAnswer)
}

// excluded leaves out of a preview what is in a cluster that does not answer.
func (l outOfBand) excluded() []optpreview.Option {
	if l.noAnswer == "" {
		return nil
	}
	return []optpreview.Option{optpreview.Exclude([]string{inCluster})}
}

// noteChangesByHand writes what was changed by hand into the state, so that the engine itself puts it back, one node after the other like
// any change.
func (s *session) noteChangesByHand(ctx context.Context, seen outOfBand) error {
	if len(seen.byHand) == 0 {
		return nil
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	for _, changed := range seen.byHand {
		if changed.have != nil {
			drift.NoteMachine(&exported.Deployment, changed.urn, changed.have)
			continue
		}
		if err := drift.Note(&exported.Deployment, changed.urn, changed.running); err != nil {
			return err
		}
	}
	return s.state.Import(ctx, exported)
}
