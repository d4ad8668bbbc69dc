package operator

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/phase"
)

// upRun is the order of steps in which a cluster is brought up.
type upRun struct {
	recovery runRecovery
	host     upHost
	state    upState
	copies   stateCopies
	engine   upEngine
	cluster  upCluster
	restore  upRestore

	asksConsent bool // a person is asked before anything is changed
}

// upHost is the access of an up to Proxmox VE.
type upHost interface {
	// checkHost refuses if the host cannot run what the inventory describes.
	checkHost(ctx context.Context) error
	// lostISOs returns the resources whose ISO was deleted.
	lostISOs(ctx context.Context) (urns []string, err error)
}

// runRecovery cleans up after killed and failed runs.
type runRecovery interface {
	// SettleProcesses ends the processes of a killed run. It refuses if another run is alive.
	SettleProcesses(ctx context.Context) error
	// Recover cleans up the state after killed and failed runs. It deletes nothing.
	Recover(ctx context.Context, goingUp bool) error
	// DeleteNeverRan deletes the leftovers of machines that never ran.
	DeleteNeverRan(ctx context.Context) error
}

// stateCopies writes backups of the state.
type stateCopies interface {
	// BackUp writes a backup; it returns nil if the state is empty.
	BackUp(ctx context.Context, reason string) (*KeptBackup, error)
}

// upState is the access of an up to the state.
type upState interface {
	// prepareState writes into the state what the engine does not detect itself, so that the engine corrects it.
	prepareState(ctx context.Context, seen outOfBand, judged judgement) error
}

// upEngine is the access of an up to the engine.
type upEngine interface {
	// narrow limits the engine to the span; the targets are nil if none are needed.
	narrow(ctx context.Context, p span) (targets []string, err error)
	// judge previews the targets and assesses the changes.
	judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error)
	// weigh refuses risks that the work does not allow and what is not its plan, and asks for consent.
	weigh(ctx context.Context, judged judgement, w work) error
	// update runs the engine; reachesCluster is false if resources in the cluster are excluded.
	update(ctx context.Context, w work, reachesCluster bool) error
	// failed explains an error of the engine.
	failed(ctx context.Context, operation string, err error) error
}

// upCluster is the access of an up to the nodes and the Kubernetes API.
type upCluster interface {
	// checkEtcd refuses while etcd has an alarm, unless the run restores it.
	checkEtcd(ctx context.Context) error
	// findOutOfBand finds changes that the engine does not see.
	findOutOfBand(ctx context.Context) (outOfBand, error)
	// nextToReplace returns which of the control planes is replaced first.
	nextToReplace(ctx context.Context, names []string) (string, error)
	// keepSnapshot keeps a snapshot of etcd if a control plane is deleted or replaced.
	keepSnapshot(ctx context.Context, judged judgement) error
	// awaitKubernetes waits until the Kubernetes API answers.
	awaitKubernetes(ctx context.Context) error
	// salvageCredentials keeps the credentials of a cluster that works although the engine failed.
	salvageCredentials(ctx context.Context) error
	// conclude writes the credentials of a cluster that was brought up, and verifies it.
	conclude(ctx context.Context) (*UpResult, error)
}

// upRestore restores etcd in an up that is to do that, or goes on with one that a killed run has begun.
type upRestore interface {
	// prepareRestore chooses the snapshot and checks it. It changes nothing in the cluster.
	prepareRestore(ctx context.Context, of span) error
	// beginRestore restores etcd if that needs no machine that the engine makes. restores is whether the run restores etcd at all.
	beginRestore(ctx context.Context) (restores bool, err error)
	// finishRestore does the rest when the machines are there.
	finishRestore(ctx context.Context) error
}

// work is a run of the engine.
type work struct {
	name    string   // in the names of artifacts
	targets []string // nil for everything
	replace []string // replaced although the engine sees no difference
	judged  bool     // a first run can neither delete nor replace: it is assessed only if consent is needed
	allowed []Permission
	limited bool     // to some phases
	plan    string   // the fingerprint of the only plan that is carried out; empty for any
	later   []string // URNs that are left to the second pass
	again   bool     // a second pass: it asks for no consent if nothing is left to do
}

// run brings the cluster up and verifies it, as far as the span reaches.
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

// bringUp runs the engine for its part of the span, with the checks, the backup and the recovery before it.
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
	if err := r.restore.prepareRestore(ctx, span); err != nil {
		return err
	}
	if err := r.cluster.checkEtcd(ctx); err != nil {
		return err
	}
	targets, err := r.engine.narrow(ctx, span)
	if err != nil {
		return err
	}
	work := work{
		name: span.command(), targets: targets, judged: before != nil || r.asksConsent || span.plan != "", allowed: allowed,
		limited: span.last != phase.Verify || span.only, plan: span.plan,
	}
	seen, err := r.cluster.findOutOfBand(ctx)
	if err != nil {
		return err
	}
	restores, err := r.do(ctx, work, seen)
	if err != nil {
		return err
	}
	if seen.noAnswer == "" && !restores || !span.covers(phase.Addons) {
		return nil
	}
	return r.reachIntoCluster(ctx, work)
}

// reachIntoCluster waits for the cluster's API and then applies what was excluded while it did not answer.
func (r upRun) reachIntoCluster(ctx context.Context, w work) error {
	if err := r.cluster.awaitKubernetes(ctx); err != nil {
		return err
	}
	seen, err := r.cluster.findOutOfBand(ctx)
	if err != nil {
		return err
	}
	seen.noAnswer, w.again = "", true // an error of the API is reported by the engine now
	w.plan = ""                       // the first pass was compared with it, as a whole
	_, err = r.do(ctx, w, seen)
	return err
}

// do assesses the work and runs the engine. It returns whether etcd was restored, before which nothing in the cluster is changed.
func (r upRun) do(ctx context.Context, w work, seen outOfBand) (restores bool, err error) {
	var judged judgement
	if w.judged {
		judged, err = r.engine.judge(ctx, seen, w.targets)
		if err != nil || w.again && !judged.hasChanges() {
			return false, err
		}
		if w.limited && len(judged.Alone) > 0 {
			return false, aloneInPhases(judged.Alone)
		}
		if err := r.engine.weigh(ctx, judged, w); err != nil {
			return false, err
		}
	}
	if err := r.recovery.DeleteNeverRan(ctx); err != nil { // first: the engine starts what is left of one, which then runs
		return false, err
	}
	if len(judged.Alone) > 0 {
		if seen, judged, err = r.replaceAlone(ctx, w, seen, judged.Alone); err != nil {
			return false, err
		}
	}
	if err := r.cluster.keepSnapshot(ctx, judged); err != nil {
		return false, err
	}
	if !w.again {
		if restores, err = r.restore.beginRestore(ctx); err != nil {
			return restores, err
		}
		if restores {
			w.later = plan.ChangedWorkers(judged.steps) // they need what is away until etcd is restored
		}
	}
	if err := r.state.prepareState(ctx, seen, judged); err != nil {
		return restores, err
	}
	if w.replace, err = r.host.lostISOs(ctx); err != nil {
		return restores, err
	}
	lost := len(judged.Lost) > 0 // then the state contains no resource in the cluster any more
	if err := r.runEngine(ctx, w, !restores && (seen.noAnswer == "" || lost)); err != nil || !restores {
		return restores, err
	}
	return restores, r.restore.finishRestore(ctx)
}

// runEngine runs the engine and writes a backup of the state after it.
func (r upRun) runEngine(ctx context.Context, w work, reachesCluster bool) error {
	err := r.engine.update(ctx, w, reachesCluster)
	if _, unsaved := r.copies.BackUp(context.WithoutCancel(ctx), "after-up"); unsaved != nil {
		return errors.Join(err, unsaved)
	}
	if err != nil {
		return errors.Join(r.cluster.salvageCredentials(context.WithoutCancel(ctx)), r.engine.failed(ctx, opUp, err))
	}
	return nil
}
