package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/stacks"
)

// UpOptions are the options of [Operator.Up].
type UpOptions struct {
	// Until is the last phase of the run. Default: 0, all phases.
	Until Phase
	// Only is the only phase of the run, after all earlier ones; it excludes Until. Default: 0, all phases.
	Only Phase
	// Canary is the node that another image of Talos comes to before all others. Default: empty, the one of the inventory.
	Canary string
	// OnlyNode is the only node that is changed; the others keep what they run, and a later run goes on with them. It excludes Until
	// and Only. Default: empty, all nodes.
	OnlyNode string
	// Plan is the fingerprint of a preview. The run is refused if it would do something else by now. It excludes Until, Only and
	// OnlyNode. Default: empty, whatever the inventory describes.
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
	// Last is the last phase of the run. There are outputs only after [Verify].
	Last Phase
	// Outputs are the stack's outputs; two of them are secrets.
	Outputs stacks.Outputs
	// Report is the status of the cluster at the end.
	Report StatusReport
	// Kubeconfig and Talosconfig are the paths of the credentials.
	Kubeconfig, Talosconfig string
	// Restored is the restore of etcd in the run; nil if there was none.
	Restored *EtcdRestored
	// ByHand are the findings about the hosts that a person ends there, with the commands: no API can.
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
		return s.bringUp(ctx, chosen, options.Allow)
	}
	if len(options.AllowInterfaces) > 0 {
		return nil, refused(errors.New("--allow-interface is for a stack of hosts: this one describes a cluster, leave it out"))
	}
	if err := s.engine.chooseNodes(options); err != nil {
		return nil, err
	}
	return s.bringUp(ctx, chosen, options.Allow)
}

// bringUp runs an up.
func (s *session) bringUp(ctx context.Context, of span.Span, allowed []Permission) (*UpResult, error) {
	defer s.recovery.Release(ctx)
	result, err := s.upRun(s.restorer.spares(of)).Run(ctx, of, allowed)
	if err := errors.Join(err, s.restorer.close()); err != nil {
		return nil, err
	}
	result.Restored, result.Took = s.restorer.restored(), s.clock.Now().Sub(s.started)
	return result, nil
}

// upRun returns the steps of an up for the kind of the stack. sparesNAS is whether it touches nothing on TrueNAS.
func (s *session) upRun(sparesNAS bool) upRun {
	checks := s.hostChecks(sparesNAS)
	run := upRun{
		Recovery: s.recovery, Host: checks, State: s, Copies: s.state, Engine: s.changes(), Cluster: s, Restore: s.restorer, AsksConsent: s.consent.needed(),
		DryRun: s.restorer.plan != nil,
	}
	if s.layer != nil {
		l := layerRun{s}
		run.Host, run.State, run.Cluster, run.Restore = layerHost{checks}, l, l, l
	}
	return run
}

// Conclude writes the credentials of a cluster that was brought up, and verifies it.
func (s *session) Conclude(ctx context.Context) (*UpResult, error) {
	outputs, err := s.inState().outputs(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.credentials().keep(outputs); err != nil {
		return nil, err
	}
	verification, err := s.verification(ctx)
	if err != nil {
		return nil, err
	}
	report, err := verification.run(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.uncordon(ctx, outputs.Talosconfig); err != nil {
		return nil, err
	}
	if err := s.etcd().send(ctx); err != nil {
		return nil, err
	}
	if err := s.remindOfKit(ctx); err != nil {
		return nil, err
	}
	return &UpResult{Kind: KindPlatform, Last: phase.Verify, Outputs: outputs, Report: report, Kubeconfig: s.credentials().kubeconfig(), Talosconfig: s.credentials().talosconfig(), ByHand: s.byHand}, nil
}

// uncordon uncordons the nodes that an interrupted run has left cordoned.
func (s *session) uncordon(ctx context.Context, talosconfig string) error {
	api, err := nodeops.ReachKubernetes(ctx, []byte(talosconfig))
	if err != nil {
		return fmt.Errorf("whether nodes are still cordoned is not known (%w): run up again", err)
	}
	defer api.Close()
	names, err := api.UncordonAll(ctx)
	s.tellUncordoned(names)
	if err != nil {
		return fmt.Errorf("%w: run up again", err)
	}
	return nil
}
