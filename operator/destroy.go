package operator

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// DestroyOptions are the options of [Operator.Destroy].
type DestroyOptions struct {
	// SkipRefresh uses the state as it is, without reading the host first. Default: false.
	SkipRefresh bool
}

// DestroyResult is the result of [Operator.Destroy].
type DestroyResult struct {
	// ISOs is the number of images that stay on the host: a machine with one of them in its drive could not start without it.
	ISOs int
}

// Destroy deletes everything that up created, after consent. The inventory and the backups of the state stay.
func (o *Operator) Destroy(ctx context.Context, options DestroyOptions) (*DestroyResult, error) {
	s, err := o.begin(ctx, needs{anyKind: true, claims: true, refresh: !options.SkipRefresh, consent: "delete all of it"})
	if err != nil {
		return nil, err
	}
	defer s.recovery.Release(ctx)
	target := s.destroyTarget()
	return destroyRun{
		Recovery: s.recovery, Host: target, State: target, Copies: s.state,
		Engine: deletion{stackEngine: s.engine, consent: s.consent}, Storage: target, Stack: s.workspace.Stack, Place: s.place, Tell: s.emit,
	}.Run(ctx)
}

// destroyTarget is the stack that a destroy deletes.
type destroyTarget struct {
	stack       string
	place       remedy.Place
	inventory   *inventory.Inventory // of a platform; nil for a layer
	systems     []status.System      // of a layer that has some
	files       []string             // of the inventory
	host        pve.Connection
	state       *stackstate.State
	credentials credentialFiles
	notNeeded   func(context.Context) error
}

func (s *session) destroyTarget() destroyTarget {
	var systems []status.System
	if s.layer != nil {
		systems = s.layer.systems()
	}
	return destroyTarget{
		systems: systems,
		stack:   s.workspace.Stack, place: s.place, inventory: s.inventory, host: s.host, state: s.state, credentials: s.credentials(),
		files: s.engine.content.Kind().Files(), notNeeded: func(ctx context.Context) error { return s.checkNotNeeded(ctx, s.engine.content, s.host) },
	}
}

// CheckNotNeeded implements [destroyHost].
func (d destroyTarget) CheckNotNeeded(ctx context.Context) error { return d.notNeeded(ctx) }

// ForgetCredentials implements [destroyState].
func (d destroyTarget) ForgetCredentials() error { return d.credentials.forget() }

// deletion deletes what a stack has, with the engine.
type deletion struct {
	*stackEngine

	consent consent
}

// ConfirmDestroy shows what would be deleted and asks for consent, unless consent was given beforehand.
func (d deletion) ConfirmDestroy(ctx context.Context) error {
	if !d.consent.needed() {
		d.recovered(d.recovery.Deletions()...)
		return nil
	}
	seen, err := d.previewed(ctx, func(run engineRun) error {
		_, err := d.stack.PreviewDestroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
	if err != nil {
		return err
	}
	d.emit(Assessed{assess(plan.Steps(seen), d.recovery, risk.Seen{})})
	return d.consent.ask(ctx)
}

// DestroyAll implements [destroyEngine].
func (d deletion) DestroyAll(ctx context.Context) error {
	return d.run(ctx, opDestroy, func(run engineRun) error {
		_, err := d.stack.Destroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
}
