package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/recovering"
)

// judgement is the result of a preview.
type judgement struct {
	risk.Assessment
	steps        []plan.Step               // of the engine
	counts       map[apitype.OpType]int    // of the resources, by operation
	fingerprint  string                    // of the plan
	byHand       bool                      // something was changed that the engine does not see
	unconfigured []state.ConfiguredMachine // machines in maintenance mode whose configuration the state records as applied
}

// hasChanges reports whether up would change anything.
func (j judgement) hasChanges() bool {
	return j.byHand || len(j.unconfigured) > 0 || hasChanges(j.counts)
}

// judge runs a preview of the engine, adds the changes that the engine does not see, and assesses both. With targets, only the steps
// of the targets count.
func (s *session) judge(ctx context.Context, seen outOfBand, targets []string, options ...optpreview.Option) (judgement, error) {
	options = append(options, seen.excluded()...)
	if err := s.comparePlugins(ctx); err != nil {
		return judgement{}, err
	}
	unconfigured, err := s.unconfigured(ctx)
	if err != nil {
		return judgement{}, err
	}
	changes, events, err := s.preview(ctx, options...)
	if err != nil {
		return judgement{}, err
	}
	steps := plan.Steps(events)
	seen.mark(steps)
	steps, changes = plan.Within(targets, steps), counted(targets, events, changes)
	assessment := assess(steps, s.recovery, risk.Seen{Unconfigured: namesOf(unconfigured), Images: seen.running.images, Unread: s.unread.names(), Restore: s.etcdRestore.risk()})
	if s.inventory != nil {
		judgeVersions(&assessment, s.inventory, seen.running.nodes)
	}
	judged := judgement{Assessment: assessment, steps: steps, counts: changes, byHand: len(seen.byHand) > 0, unconfigured: unconfigured}
	judged.Unasked = seen.unasked()
	judged.fingerprint, err = plan.Fingerprint(steps, assessment.Findings)
	return judged, err
}

// assess assesses the steps of a preview and adds what the recovery deletes and adopts before them.
func assess(steps []plan.Step, cleanup *recovering.Recovery, seen risk.Seen) risk.Assessment {
	assessment := risk.Assess(steps, seen)
	assessment.Notes = slices.Concat(assessment.Notes, cleanup.Deletions(), cleanup.Adoptions())
	return assessment
}

// preview runs the engine's preview and returns the number of its steps by operation, and its events.
func (s *session) preview(ctx context.Context, options ...optpreview.Option) (changes map[apitype.OpType]int, seen []apitype.EngineEvent, err error) {
	lost, err := s.lostISOs(ctx)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, optpreview.Replace(lost))
	var result auto.PreviewResult
	seen, err = s.previewed(ctx, func(run engineRun) (err error) {
		result, err = s.stack.Preview(ctx, append(options, optpreview.ProgressStreams(run.out), optpreview.ErrorProgressStreams(run.err), optpreview.EventStreams(run.events))...)
		return err
	})
	return result.ChangeSummary, s.recovery.WithRecoveries(seen), err
}

// weigh implements [upEngine]. It emits the assessment first, and records the permissions that the changes need.
func (s *session) weigh(ctx context.Context, judged judgement, w work) error {
	s.emit(Assessed{judged.Assessment})
	given := w.allowed
	if s.restorePlan != nil {
		given = s.restorePlan.allow(judged, given)
	}
	if refusal := judged.Refusal(given); refusal != "" {
		return refused(s.place.CompleteError(errors.New(refusal)))
	}
	if err := w.isPlanned(judged.fingerprint); err != nil {
		return refused(s.place.CompleteError(err))
	}
	if s.restorePlan != nil {
		return errDryRun
	}
	if err := s.consent.ask(ctx); err != nil {
		return err
	}
	s.consented = judged.Missing(nil)
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
