package operator

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"

	"github.com/em-infra/em-infra/internal/phase"
)

// upRun is the order in which a cluster is brought up. Each step is done by one of the parts.
type upRun struct {
	recovery runRecovery
	host     upHost
	state    upState
	copies   stateCopies
	engine   upEngine
	cluster  upCluster

	asksConsent bool // somebody is to be asked before anything is changed
}

// upHost is what an up asks of Proxmox VE.
type upHost interface {
	// checkHost refuses what the host cannot bear.
	checkHost(ctx context.Context) error
	// lostISOs are the resources whose ISO somebody has deleted.
	lostISOs(ctx context.Context) (urns []string, err error)
}

// runRecovery settles what killed and failed runs have left.
type runRecovery interface {
	// SettleProcesses ends what a killed run has left working; it refuses where another run is alive.
	SettleProcesses(ctx context.Context) error
	// Recover settles in the state what failed and killed runs have left. Nothing is deleted.
	Recover(ctx context.Context, goingUp bool) error
	// DeleteNeverRan deletes what is left of machines that never ran.
	DeleteNeverRan(ctx context.Context) error
}

// stateCopies keeps copies of the state.
type stateCopies interface {
	// BackUp keeps a copy; nil where there is nothing to keep.
	BackUp(ctx context.Context, reason string) (*Backup, error)
}

// upState is what an up does with the state.
type upState interface {
	// prepareState writes into the state what has the engine put right what it does not see itself.
	prepareState(ctx context.Context, seen outOfBand, judged judgement) error
}

// upEngine is what an up has the engine do.
type upEngine interface {
	// narrow has the engine do no more than the span; the targets are nil where no choice is needed.
	narrow(ctx context.Context, p span) (targets []string, err error)
	// judge previews the targets, and judges what that means.
	judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error)
	// weigh refuses what nobody has allowed, and asks for consent.
	weigh(ctx context.Context, judged judgement, allowed []Permission) error
	// update lets the engine work; reachesCluster is false where what is in the cluster is left out.
	update(ctx context.Context, w work, reachesCluster bool) error
	// failed explains the error of the engine.
	failed(ctx context.Context, operation string, err error) error
}

// upCluster is what an up asks of the nodes and the Kubernetes API.
type upCluster interface {
	// findOutOfBand finds what was changed beside the engine.
	findOutOfBand(ctx context.Context) (outOfBand, error)
	// awaitKubernetes waits until the Kubernetes API answers.
	awaitKubernetes(ctx context.Context) error
	// salvageCredentials keeps those of a cluster that stands although the engine failed.
	salvageCredentials(ctx context.Context) error
	// conclude keeps the credentials of a cluster that was brought up, and asks whether it works.
	conclude(ctx context.Context) (*UpResult, error)
}

// work is what the engine is to do.
type work struct {
	name    string   // among artifacts
	targets []string // nil for everything
	replace []string // what is made anew, although the engine sees no difference
	judged  bool     // a first run can neither delete nor replace: it is judged only where consent is needed
	allowed []Permission
	again   bool // a second pass: it asks for no consent where nothing is left to do
}

// run lets the engine work, and asks at the end whether the cluster does.
func (r upRun) run(ctx context.Context, span span, allowed []Permission) (*UpResult, error) {
	if span.work() {
		if err := r.bringUp(ctx, span, allowed); err != nil {
			return nil, err
		}
	}
	if !span.verifies() {
		return &UpResult{Last: span.last}, nil
	}
	return r.cluster.conclude(ctx)
}

// bringUp lets the engine do its part of the span, between everything that makes that safe.
func (r upRun) bringUp(ctx context.Context, span span, allowed []Permission) error {
	if err := r.recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	if err := r.host.checkHost(ctx); err != nil {
		return err
	}
	before, err := r.copies.BackUp(ctx, "before-up")
	if err != nil {
		return err
	}
	if err := r.recovery.Recover(ctx, true); err != nil {
		return err
	}
	targets, err := r.engine.narrow(ctx, span)
	if err != nil {
		return err
	}
	work := work{name: span.command(), targets: targets, judged: before != nil || r.asksConsent, allowed: allowed}
	seen, err := r.cluster.findOutOfBand(ctx)
	if err != nil {
		return err
	}
	if err := r.do(ctx, work, seen); err != nil {
		return err
	}
	if seen.noAnswer == "" || !span.covers(phase.Addons) {
		return nil
	}
	return r.reachIntoCluster(ctx, work)
}

// reachIntoCluster does for what is in the cluster what could not be done while its API did not answer.
func (r upRun) reachIntoCluster(ctx context.Context, w work) error {
	if err := r.cluster.awaitKubernetes(ctx); err != nil {
		return err
	}
	seen, err := r.cluster.findOutOfBand(ctx)
	if err != nil {
		return err
	}
	seen.noAnswer, w.again = "", true // what fails now says so itself
	return r.do(ctx, w, seen)
}

// do judges the work, and lets the engine do it.
func (r upRun) do(ctx context.Context, w work, seen outOfBand) error {
	var judged judgement
	if w.judged {
		var err error
		judged, err = r.engine.judge(ctx, seen, w.targets)
		if err != nil || w.again && !judged.hasChanges() {
			return err
		}
		if err := r.engine.weigh(ctx, judged, w.allowed); err != nil {
			return err
		}
	}
	if err := r.recovery.DeleteNeverRan(ctx); err != nil {
		return err
	}
	if err := r.state.prepareState(ctx, seen, judged); err != nil {
		return err
	}
	var err error
	if w.replace, err = r.host.lostISOs(ctx); err != nil {
		return err
	}
	lost := len(judged.Lost) > 0 // then nothing that is in the cluster is left in the state
	err = r.engine.update(ctx, w, seen.noAnswer == "" || lost)
	if _, unsaved := r.copies.BackUp(context.WithoutCancel(ctx), "after-up"); unsaved != nil {
		return errors.Join(err, unsaved)
	}
	if err != nil {
		return errors.Join(r.cluster.salvageCredentials(context.WithoutCancel(ctx)), r.engine.failed(ctx, opUp, err))
	}
	return nil
}
