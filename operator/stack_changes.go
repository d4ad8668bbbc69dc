package operator

import (
	"context"
	"errors"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// stackChanges are the changes that a run of the engine makes to a stack: a part of what the engine would do, which is assessed and agreed
// to before it is done.
type stackChanges struct {
	*stackEngine

	restorer *restorer
	consent  consent
}

func (s *session) changes(restorer *restorer) stackChanges {
	return stackChanges{stackEngine: s.engine, restorer: restorer, consent: s.consent}
}

// Judge runs a preview of the engine, adds the changes that the engine does not see, and assesses both. With targets, only the steps
// of the targets count.
func (c stackChanges) Judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error) {
	options = append(options, seen.excluded()...)
	if err := c.comparePlugins(ctx); err != nil {
		return judgement{}, err
	}
	unconfigured, err := c.unconfigured(ctx)
	if err != nil {
		return judgement{}, err
	}
	changes, events, err := c.preview(ctx, options...)
	if err != nil {
		return judgement{}, err
	}
	steps := plan.Steps(events)
	seen.mark(steps)
	steps, changes = plan.Within(targets, steps), span.Counted(targets, events, changes)
	known := risk.Seen{Unconfigured: namesOf(unconfigured), Images: seen.Running.Images, Unread: c.unread.names(), Restore: c.restorer.restore.risk()}
	inv := c.cluster()
	if inv != nil {
		known.Renamed = seen.Running.renamed(inv.Nodes)
	}
	assessment := assess(steps, c.recovery, known)
	if inv != nil {
		judgeVersions(&assessment, inv, seen.Running.Nodes)
	}
	snapshots, err := c.foreseeSnapshots(ctx, steps, &assessment)
	if err != nil {
		return judgement{}, err
	}
	judged := judgement{Assessment: assessment, Snapshots: snapshots, Steps: steps, Counts: changes, ByHand: len(seen.ByHand) > 0, Unconfigured: unconfigured}
	judged.Unasked = seen.unasked()
	judged.Fingerprint, err = plan.Fingerprint(steps, assessment.Findings)
	return judged, err
}

// Weigh implements [upEngine]. It emits the assessment first, and records the permissions that the changes need.
func (c stackChanges) Weigh(ctx context.Context, judged judgement, w work) error {
	c.emit(Assessed{judged.Assessment})
	given := w.Allowed
	if c.restorer.plan != nil {
		given = c.restorer.plan.allow(judged, given)
	}
	if refusal := judged.Refusal(given); refusal != "" {
		return refused(c.place.CompleteError(errors.New(refusal)))
	}
	if err := w.IsPlanned(judged.Fingerprint); err != nil {
		return refused(c.place.CompleteError(err))
	}
	if c.restorer.plan != nil {
		return errDryRun
	}
	consent := c.consent
	consent.again = w.Again
	if err := consent.ask(ctx); err != nil {
		return err
	}
	c.consented = judged.Missing(nil)
	return nil
}

// Update implements [upEngine].
func (c stackChanges) Update(ctx context.Context, w work, reachesCluster bool) error {
	targets, excluded := span.Scope(w.Targets, !reachesCluster)
	excluded = append(excluded, w.Later...)
	options := []optup.Option{optup.Target(targets), optup.Exclude(excluded), optup.Replace(w.Replace), optup.SuppressOutputs(),
		optup.Parallel(parallelFor(c.cluster(), os.LookupEnv))}
	defer c.restorer.keepJoining(ctx)()
	return c.onTargets(ctx, targets, func() error {
		return c.run(ctx, w.Name, func(run engineRun) error {
			_, err := c.stack.Up(ctx, append(options, optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))...)
			return err
		})
	})
}
