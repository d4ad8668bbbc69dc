package operator

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// drift compares a layer by a preview with refresh, and by what a refresh does not read. If the host does not answer, it is reported as
// unread.
func (l layerRun) drift(ctx context.Context) (drift.Report, error) {
	report := drift.Report{Host: []drift.Difference{}, Nodes: []drift.Difference{}, Unread: []string{}}
	if _, err := l.host.Reach(ctx); err != nil {
		report.Unread = append(report.Unread, err.Error())
		return report, nil
	}
	seen, err := l.FindOutOfBand(ctx)
	if err != nil {
		return report, err
	}
	_, events, err := l.preview(ctx)
	if err != nil {
		return report, err
	}
	steps := plan.Steps(events)
	seen.mark(steps)
	steps = slices.DeleteFunc(steps, func(step plan.Step) bool {
		return slices.ContainsFunc(seen.ByHand, func(changed byHand) bool { return changed.urn == step.URN && changed.told })
	})
	report.Host = append(append(report.Host, seen.Differences...), drift.Resources(steps)...)
	report.Unread = append(report.Unread, seen.unasked()...)
	return report, nil
}
