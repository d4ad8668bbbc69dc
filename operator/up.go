package operator

import (
	"context"
	"errors"
	"time"

	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/stacks"
)

// UpOptions are the options of [Operator.Up].
type UpOptions struct {
	// Until is the last phase of the run. Default: 0, all phases.
	Until Phase
	// Only is the only phase of the run, after all earlier ones; it excludes Until. Default: 0, all phases.
	Only Phase
	// Canary is the node that gets another image of Talos before all others. Default: empty, the one of the inventory.
	Canary string
	// OnlyNode is the only node that is changed; the others keep what they run, and a later run goes on with them. It excludes Until
	// and Only. Default: empty, all nodes.
	OnlyNode string
	// Plan is the fingerprint of a preview. The run is refused if it would do something else by now. It excludes Until, Only and OnlyNode. Default:
	// empty, any plan.
	Plan string
	// Allow lists the risks for the cluster that are allowed. Default: none.
	Allow []Permission
	// AllowInterfaces are interfaces of hosts, as HOST/INTERFACE, that a stack of hosts may change although the API is reached by them.
	// Default: none.
	AllowInterfaces []string
	// SkipRefresh uses the state as it is, without reading the host first. Default: false.
	SkipRefresh bool
}

// UpResult is the result of [Operator.Up].
type UpResult struct {
	// Kind is the kind of the stack. All that is about a cluster is empty for another kind than [KindPlatform].
	Kind Kind
	// Last is the last phase of the run. There are outputs only after the last one, verify.
	Last Phase
	// Outputs are the stack's outputs; two of them are secrets.
	Outputs stacks.Outputs
	// Report is the status of the cluster at the end.
	Report StatusReport
	// Kubeconfig and Talosconfig are the paths of the credentials.
	Kubeconfig, Talosconfig string
	// Restored is the restore of etcd in the run; nil if there was none.
	Restored *EtcdRestored
	// ByHand are the findings about the hosts that a user has to resolve there, with the commands, because no API can.
	ByHand Checks
	// Took is the duration.
	Took time.Duration
}

// Up brings the cluster to the state that the inventory describes. It is safe to run again. It checks the host, backs up the state,
// cleans up after killed runs, assesses the changes, asks for consent, applies them, and verifies the nodes and the Kubernetes API.
func (o *Operator) Up(ctx context.Context, options UpOptions) (*UpResult, error) {
	chosen, err := options.span()
	if err != nil {
		return nil, refused(err)
	}
	s, err := o.begin(ctx, needs{anyKind: true, lab: true, newStack: true, claims: true, refresh: !options.SkipRefresh, consent: "bring it up"})
	if err != nil {
		return nil, err
	}
	defer s.recovery.Release(ctx)
	if s.layer != nil {
		if err := options.checkWhole(); err != nil {
			return nil, refused(err)
		}
		s.allowInterfaces(options.AllowInterfaces)
		return s.bringUp(ctx, s.restorer(nil, nil), chosen, options.Allow)
	}
	if len(options.AllowInterfaces) > 0 {
		return nil, refused(errors.New("--allow-interface is for a stack of hosts: this one describes a cluster, leave it out"))
	}
	if err := s.engine.chooseNodes(options); err != nil {
		return nil, err
	}
	return s.bringUp(ctx, s.restorer(nil, nil), chosen, options.Allow)
}

// bringUp runs an up.
func (s *session) bringUp(ctx context.Context, restorer *restorer, of span.Span, allowed []Permission) (*UpResult, error) {
	defer s.recovery.Release(ctx)
	result, err := s.upRun(restorer, of).Run(ctx, of, allowed)
	if err := errors.Join(err, restorer.close()); err != nil {
		return nil, err
	}
	result.Restored, result.Took = restorer.restored(), s.clock.Now().Sub(s.started)
	return result, nil
}

// upRun returns the steps of an up for the kind of the stack.
func (s *session) upRun(restorer *restorer, of span.Span) upRun {
	checks := s.hostChecks(restorer.spares(of))
	run := upRun{
		Recovery: s.recovery, Copies: s.state, Engine: s.changes(restorer), AsksConsent: s.consent.needed(), DryRun: restorer.plan != nil,
	}
	if s.layer != nil {
		l := s.layerRun(checks)
		run.Host, run.State, run.Cluster, run.Restore = layerHost{checks}, l, l, l
		return run
	}
	run.Host, run.State = checks, statePreparation{engine: s.engine, own: s.own, restorer: restorer}
	run.Cluster, run.Restore = s.platformRun(checks, restorer), restorer
	return run
}
