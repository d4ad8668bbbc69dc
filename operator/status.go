package operator

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// Status reports machines, etcd, Kubernetes, certificates, the state, and orphans.
type Status struct{ StatusReport }

// Err returns [ErrNotWell] if something is wrong or could not be read.
func (s *Status) Err() error {
	if len(s.Lacks()) > 0 {
		return ErrNotWell
	}
	return nil
}

// Status returns the status from Proxmox VE, Talos and Kubernetes. It only reads.
func (o *Operator) Status(ctx context.Context) (*Status, error) {
	s, err := o.begin(ctx, needs{anyKind: true, hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	return s.status().read(ctx)
}

// stackStatus reads the status of a stack from all its sources.
type stackStatus struct {
	sources stackSources
	copies  keptCopies
	layer   layer // nil for a platform
}

func (s *session) status() stackStatus {
	return stackStatus{sources: s.sources(), copies: s.keptCopies(), layer: s.layer}
}

// read returns the status of a stack of any kind.
func (s stackStatus) read(ctx context.Context) (*Status, error) {
	if s.layer != nil {
		return s.ofLayer(ctx)
	}
	return s.ofCluster(ctx)
}

// ofCluster returns the status of a platform.
func (s stackStatus) ofCluster(ctx context.Context) (*Status, error) {
	sources, err := s.sources.ofCluster(ctx)
	if err != nil {
		return nil, err
	}
	copies, unread := s.copies.status(ctx)
	sources.Copies = copies
	report := sources.Report(ctx, s.sources.clock.Now())
	listed := listedCredentials{cluster: s.copies.cluster, token: s.sources.host.Token, rehearsed: s.sources.workspace.Rehearsed}
	credentials, noCredentials := listed.list(ctx, sources.Host, copies)
	report = report.WithUnread(unread, noCredentials).WithCredentials(credentials)
	return &Status{StatusReport: report.At(s.copies.cluster.place)}, nil
}

// stackSources are the sources of information about a stack: its state, its host and its nodes.
type stackSources struct {
	*Operator

	state     *stackstate.State
	inventory *inventory.Inventory // of a platform; nil for a layer
	host      pve.Connection
	factory   string // URL of the Image Factory
}

func (s *session) sources() stackSources {
	return stackSources{Operator: s.Operator, state: s.state, inventory: s.inventory, host: s.host, factory: s.factory}
}

// ofCluster returns the sources of information about the stack's cluster.
func (s stackSources) ofCluster(ctx context.Context) (status.Sources, error) {
	sources, err := s.ofState(ctx)
	if err != nil {
		return sources, err
	}
	outputs, err := engine.Outputs(sources.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	sources.Inventory = s.inventory
	sources.Talosconfig, sources.Kubeconfig = secretOf(outputs, stacks.OutputTalosconfig), secretOf(outputs, stacks.OutputKubeconfig)
	if len(sources.Talosconfig) == 0 { // a stack whose first run failed late has a cluster, and no outputs
		kubeconfig, talosconfig, err := state.ClusterCredentials(sources.Deployment)
		if err != nil {
			return status.Sources{}, err
		}
		sources.Talosconfig, sources.Kubeconfig = []byte(talosconfig), []byte(kubeconfig)
	}
	sources.Images, err = wantedImages(s.inventory, s.factory)
	return sources, err
}

// ofState returns the sources of information about the stack of any kind: its state and its host.
func (s stackSources) ofState(ctx context.Context) (status.Sources, error) {
	host, err := pve.NewReader(s.host)
	if err != nil {
		return status.Sources{}, refused(err)
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return status.Sources{}, err
	}
	owner, err := state.OwnerOf(s.workspace.Stack, exported.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	last, err := lastUpdate(ctx, s.state)
	if err != nil {
		return status.Sources{}, err
	}
	locks, err := recovery.Locks(ctx, s.stateAt())
	if err != nil {
		return status.Sources{}, err
	}
	locks = slices.DeleteFunc(locks, recovery.Lock.IsOwn) // an up asks for the status at its end
	return status.Sources{Host: host, Owner: owner, Deployment: exported.Deployment, LastUpdate: last, Locks: locks}, nil
}

// secretOf returns an output of type string; empty if it does not exist yet.
func secretOf(outputs auto.OutputMap, name string) []byte {
	text, _ := outputs[name].Value.(string)
	return []byte(text)
}

// lastUpdate returns the newest entry of the stack's history; nil if there is none.
func lastUpdate(ctx context.Context, state *stackstate.State) (*status.Update, error) {
	last, err := state.LastUpdate(ctx)
	if err != nil || last == nil {
		return nil, err
	}
	return &status.Update{Kind: last.Kind, Result: last.Result, Ended: last.Ended}, nil
}
