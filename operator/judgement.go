package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

// judgement is the result of a preview.
type judgement struct {
	risk.Assessment
	Steps        []plan.Step               // of the engine
	Counts       map[apitype.OpType]int    // of the resources, by operation
	Fingerprint  string                    // of the plan
	ByHand       bool                      // something was changed that the engine does not see
	Unconfigured []state.ConfiguredMachine // machines in maintenance mode whose configuration the state records as applied
	Snapshots    []systemsnapshots.Wanted  // to be taken of systems before they are changed
}

// HasChanges reports whether up would change anything.
func (j judgement) HasChanges() bool {
	return j.ByHand || len(j.Unconfigured) > 0 || hasChanges(j.Counts)
}

// stackChanges are the changes that a run of the engine makes to a stack: a part of what the engine would do, which is assessed and agreed
// to before it is done.
type stackChanges struct {
	*stackEngine

	restorer *restorer
	consent  consent
}

func (s *session) changes() stackChanges {
	return stackChanges{stackEngine: s.engine, restorer: s.restorer, consent: s.consent}
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

// assess assesses the steps of a preview and adds what the recovery deletes and adopts before them.
func assess(steps []plan.Step, cleanup *recovering.Recovery, seen risk.Seen) risk.Assessment {
	assessment := risk.Assess(steps, seen)
	assessment.Notes = slices.Concat(assessment.Notes, cleanup.Deletions(), cleanup.Adoptions())
	return assessment
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

func hasChanges(summary map[apitype.OpType]int) bool {
	for operation, count := range summary {
		if operation != apitype.OpSame && operation != apitype.OpRead && count > 0 {
			return true
		}
	}
	return false
}
