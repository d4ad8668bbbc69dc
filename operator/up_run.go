package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/refusal"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// upRun is the order of steps in which a cluster is brought up.
type upRun struct {
	Recovery runRecovery
	Host     upHost
	State    upState
	Copies   stateCopies
	Engine   upEngine
	Cluster  upCluster
	Restore  upRestore

	AsksConsent bool // a person is asked before anything is changed
	DryRun      bool // it ends before anything is changed
}

// upHost is the access of an up to Proxmox VE.
type upHost interface {
	// CheckHost refuses if the host cannot run what the inventory describes.
	CheckHost(ctx context.Context) error
	// AwaitStarts waits while hosts of the inventory start their machines, as after their own start.
	AwaitStarts(ctx context.Context) error
	// LostISOs returns the resources whose ISO was deleted.
	LostISOs(ctx context.Context) (urns []string, err error)
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
	// PrepareState writes into the state what the engine does not detect itself, so that the engine corrects it.
	PrepareState(ctx context.Context, seen outOfBand, judged judgement) error
}

// upEngine is the access of an up to the engine.
type upEngine interface {
	// Narrow limits the engine to the span; the targets are nil if none are needed.
	Narrow(ctx context.Context, p span.Span) (targets []string, err error)
	// Judge previews the targets and assesses the changes.
	Judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error)
	// Weigh refuses risks that the work does not allow and what is not its plan, and asks for consent.
	Weigh(ctx context.Context, judged judgement, w work) error
	// Update runs the engine; reachesCluster is false if resources in the cluster are excluded.
	Update(ctx context.Context, w work, reachesCluster bool) error
	// Failed explains an error of the engine.
	Failed(ctx context.Context, operation string, err error) error
}

// upCluster is the access of an up to the nodes and the Kubernetes API.
type upCluster interface {
	// CheckEtcd refuses while etcd has an alarm, unless the run restores it.
	CheckEtcd(ctx context.Context) error
	// FindOutOfBand finds changes that the engine does not see.
	FindOutOfBand(ctx context.Context) (outOfBand, error)
	// NextToReplace returns which of the control planes is replaced first.
	NextToReplace(ctx context.Context, names []string) (string, error)
	// KeepSnapshot keeps a snapshot of etcd if a control plane is deleted or replaced, and one of each system that is changed, if the
	// inventory asks for them.
	KeepSnapshot(ctx context.Context, judged judgement) error
	// PrepareNodes prepares the cluster for the changes of its nodes. Nodes whose Node was deleted register again, since a drain may wait for room on
	// them. Dead control planes that the run removes leave etcd first: the engine removes machines last, and the changes before that wait until etcd
	// is whole.
	PrepareNodes(ctx context.Context, judged judgement) error
	// AwaitKubernetes waits until the Kubernetes API answers.
	AwaitKubernetes(ctx context.Context) error
	// SalvageCredentials keeps the credentials of a cluster that works although the engine failed.
	SalvageCredentials(ctx context.Context) error
	// Conclude writes the credentials of a cluster that was brought up, and verifies it.
	Conclude(ctx context.Context) (*UpResult, error)
}

// upRestore restores etcd in an up that is to do that, or goes on with one that a killed run has begun.
type upRestore interface {
	// PrepareRestore chooses the snapshot and checks it. It changes nothing in the cluster.
	PrepareRestore(ctx context.Context, of span.Span) error
	// BeginRestore restores etcd if that needs no machine that the engine makes. restores is whether the run restores etcd at all.
	BeginRestore(ctx context.Context) (restores bool, err error)
	// FinishRestore does the rest when the machines are there.
	FinishRestore(ctx context.Context) error
}

// work is a run of the engine.
type work struct {
	Name    string   // in the names of artifacts
	Targets []string // nil for everything
	Replace []string // replaced although the engine sees no difference
	Judged  bool     // a first run can neither delete nor replace: it is assessed only if consent is needed
	Allowed []Permission
	Limited bool     // to some phases
	Plan    string   // the fingerprint of the only plan that is carried out; empty for any
	Later   []string // URNs that are left to the second pass
	Again   bool     // a second pass: it asks for no consent if nothing is left to do
}

// Run brings the cluster up and verifies it, as far as the span reaches.
func (r upRun) Run(ctx context.Context, of span.Span, allowed []Permission) (*UpResult, error) {
	if of.Works() {
		if err := r.BringUp(ctx, of, allowed); err != nil {
			return nil, err
		}
	}
	if !of.Verifies() {
		return &UpResult{Last: of.Last}, nil
	}
	result, err := r.Cluster.Conclude(ctx)
	if of.Works() {
		err = refusal.AfterChanges(err)
	}
	return result, err
}

// BringUp runs the engine for its part of the span, with the checks, the backup and the recovery before it.
func (r upRun) BringUp(ctx context.Context, of span.Span, allowed []Permission) error {
	if err := r.Recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	if err := r.Host.CheckHost(ctx); err != nil {
		return err
	}
	if of.Covers(phase.Provision) && !r.DryRun {
		if err := r.Host.AwaitStarts(ctx); err != nil {
			return err
		}
	}
	before, err := r.Copies.BackUp(ctx, "before-up")
	if err != nil {
		return err
	}
	if err := r.Recovery.Recover(ctx, !r.DryRun); err != nil {
		return err
	}
	if err := r.Restore.PrepareRestore(ctx, of); err != nil {
		return err
	}
	if err := r.Cluster.CheckEtcd(ctx); err != nil {
		return err
	}
	targets, err := r.Engine.Narrow(ctx, of)
	if err != nil {
		return err
	}
	work := work{
		Name: of.Command(), Targets: targets, Judged: before != nil || r.AsksConsent || of.Plan != "", Allowed: allowed,
		Limited: of.Last != phase.Verify || of.Only, Plan: of.Plan,
	}
	seen, err := r.Cluster.FindOutOfBand(ctx)
	if err != nil {
		return err
	}
	restores, err := r.do(ctx, work, seen)
	if err != nil {
		return err
	}
	if seen.NoAnswer == "" && !restores || !of.Covers(phase.Addons) {
		return nil
	}
	return refusal.AfterChanges(r.reachIntoCluster(ctx, work))
}

// reachIntoCluster waits for the cluster's API and then applies what was excluded while it did not answer.
func (r upRun) reachIntoCluster(ctx context.Context, w work) error {
	if err := r.Cluster.AwaitKubernetes(ctx); err != nil {
		return err
	}
	seen, err := r.Cluster.FindOutOfBand(ctx)
	if err != nil {
		return err
	}
	seen.NoAnswer, w.Again = "", true // an error of the API is reported by the engine now
	w.Plan = ""                       // the first pass was compared with it, as a whole
	_, err = r.do(ctx, w, seen)
	return afterFirstPass(err)
}

// afterFirstPass adds to a refusal of the second pass that the first one has changed the machines.
func afterFirstPass(err error) error {
	if errors.As(err, new(*RefusedError)) {
		return fmt.Errorf("the machines are changed, and what is in the cluster is not: %w", err)
	}
	return err
}

// do assesses the work and runs the engine. It returns whether etcd was restored, before which nothing in the cluster is changed.
func (r upRun) do(ctx context.Context, w work, seen outOfBand) (restores bool, err error) {
	var judged judgement
	if w.Judged {
		judged, err = r.Engine.Judge(ctx, seen, w.Targets)
		if err != nil || w.Again && !judged.HasChanges() {
			return false, err
		}
		if w.Limited && len(judged.Alone) > 0 {
			return false, aloneInPhases(judged.Alone)
		}
		if err := r.Engine.Weigh(ctx, judged, w); err != nil {
			return false, err
		}
	}
	if err := r.Recovery.DeleteNeverRan(ctx); err != nil { // before the engine, which would start what is left of such a machine
		return false, err
	}
	if len(judged.Alone) == 0 {
		return r.apply(ctx, w, seen, judged)
	}
	if seen, judged, err = r.replaceAlone(ctx, w, seen, judged.Alone); err != nil {
		return false, err
	}
	restores, err = r.apply(ctx, w, seen, judged)
	return restores, refusal.AfterChanges(err)
}

// apply prepares the cluster and the state for the changes, and runs the engine. It returns whether etcd was restored.
func (r upRun) apply(ctx context.Context, w work, seen outOfBand, judged judgement) (restores bool, err error) {
	if err := r.Cluster.KeepSnapshot(ctx, judged); err != nil {
		return false, err
	}
	if !w.Again {
		if restores, err = r.Restore.BeginRestore(ctx); err != nil {
			return restores, err
		}
		if restores {
			w.Later = plan.ChangedWorkers(judged.Steps) // they need the Kubernetes API, which is away until etcd is restored
		}
	}
	if !restores {
		if err := r.Cluster.PrepareNodes(ctx, judged); err != nil {
			return restores, err
		}
	}
	if err := r.State.PrepareState(ctx, seen, judged); err != nil {
		return restores, err
	}
	if w.Replace, err = r.Host.LostISOs(ctx); err != nil {
		return restores, err
	}
	lost := len(judged.Lost) > 0 // then the state contains no resource in the cluster any more
	if err := r.runEngine(ctx, w, !restores && (seen.NoAnswer == "" || lost)); err != nil || !restores {
		return restores, err
	}
	return restores, refusal.AfterChanges(r.Restore.FinishRestore(ctx))
}

// runEngine runs the engine and writes a backup of the state after it.
func (r upRun) runEngine(ctx context.Context, w work, reachesCluster bool) error {
	err := r.Engine.Update(ctx, w, reachesCluster)
	_, unsaved := r.Copies.BackUp(context.WithoutCancel(ctx), "after-up")
	if unsaved != nil {
		unsaved = unsavedAfter(unsaved)
	}
	if err != nil {
		return errors.Join(refusal.AfterChanges(r.Cluster.SalvageCredentials(context.WithoutCancel(ctx))), r.Engine.Failed(ctx, opUp, err), unsaved)
	}
	return unsaved
}

// unsavedAfter returns the error of a backup after a run. It is no refusal, since the run has changed what its plan says.
func unsavedAfter(err error) error {
	return refusal.AfterChanges(fmt.Errorf("there is no backup of what this run has changed (%w): mend that, then run `em-infra state backup`", err))
}
