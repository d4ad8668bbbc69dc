package operator

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// drift compares a layer by a preview with refresh, and by what a refresh does not read.
func (l layerRun) drift(ctx context.Context) (drift.Report, error) {
	return driftRun{Place: l.place, Reach: reachOf(l.host), Host: l.hostDrift}.Run(ctx)
}

func (l layerRun) hostDrift(ctx context.Context, report *drift.Report) error {
	seen, err := l.FindOutOfBand(ctx)
	if err != nil {
		return err
	}
	_, events, err := l.engine.preview(ctx)
	if err != nil {
		return err
	}
	steps := plan.Steps(events)
	seen.mark(steps)
	steps = slices.DeleteFunc(steps, func(step plan.Step) bool {
		return slices.ContainsFunc(seen.ByHand, func(changed byHand) bool { return changed.urn == step.URN && changed.described })
	})
	report.Host = append(append(report.Host, seen.Differences...), drift.Resources(steps)...)
	report.Unread = append(report.Unread, seen.unasked()...)
	return nil
}
