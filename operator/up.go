package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/stacks"
)

// UpOptions say how far a cluster is brought up, and what may happen on the way.
type UpOptions struct {
	// Until is the last phase of the run. Default: 0, all of them.
	Until Phase
	// Only is the one phase of the run, the ones before it being done; it excludes Until. Default: 0, all of them.
	Only Phase
	// Allow is what may be done although a cluster can be lost by it. Default: nothing.
	Allow []Permission
	// SkipRefresh takes the state as it is instead of reading the host first. Default: false.
	SkipRefresh bool
}

// UpResult is what stands after an up.
type UpResult struct {
	// Last is the phase that the run ended with. Only after [Verify] are there outputs.
	Last Phase
	// Outputs of the stack; two of them are secrets.
	Outputs stacks.Outputs
	// Report is what the nodes and the Kubernetes API said at the end.
	Report StatusReport
	// Kubeconfig and Talosconfig are the files of the credentials.
	Kubeconfig, Talosconfig string
	// Took is how long it took.
	Took time.Duration
}

// Up brings the cluster to what the inventory says; it is safe to run again. The host is asked first whether it can bear that,
// the state is backed up, what a killed run left behind is settled, what is going to happen is judged and agreed to, and at the
// end the nodes and the Kubernetes API are asked whether everything works.
func (o *Operator) Up(ctx context.Context, options UpOptions) (*UpResult, error) {
	span, err := options.span()
	if err != nil {
		return nil, refused(err)
	}
	s, err := o.begin(ctx, needs{lab: true, newStack: true, refresh: !options.SkipRefresh, consent: "bring it up"})
	if err != nil {
		return nil, err
	}
	result, err := upRun{recovery: s.recovery, host: s, state: s, copies: s.state, engine: s, cluster: s, asksConsent: s.consent != ""}.run(ctx, span, options.Allow)
	if err != nil {
		return nil, err
	}
	result.Took = s.clock.Now().Sub(s.started)
	return result, nil
}

// conclude keeps the credentials of a cluster that was brought up, and asks whether it works.
func (s *session) conclude(ctx context.Context) (*UpResult, error) {
	outputs, err := s.outputs(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.keepCredentials(outputs); err != nil {
		return nil, err
	}
	report, err := s.verify(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.uncordon(ctx, outputs.Talosconfig); err != nil {
		return nil, err
	}
	return &UpResult{Last: phase.Verify, Outputs: outputs, Report: report, Kubeconfig: s.kubeconfigFile(), Talosconfig: s.talosconfigFile()}, nil
}

// uncordon lets pods onto the nodes that a run had cordoned and that was interrupted before they were back.
func (s *session) uncordon(ctx context.Context, talosconfig string) error {
	api, err := nodeops.ReachKubernetes(ctx, []byte(talosconfig))
	if err != nil {
		return fmt.Errorf("whether nodes are still cordoned is not known (%w): run up again", err)
	}
	defer api.Close()
	names, err := api.Uncordon(ctx)
	for _, name := range names {
		s.recovered(name + " takes pods again: a run that was interrupted had cordoned it")
	}
	if err != nil {
		return fmt.Errorf("%w: run up again", err)
	}
	return nil
}
