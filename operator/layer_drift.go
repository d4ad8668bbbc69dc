package operator

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// layerComparison compares what runs of a layer with its inventory and its state.
type layerComparison struct {
	layer  layer
	engine *stackEngine
	host   pve.Connection
	place  remedy.Place
}

func (s *session) layerComparison() layerComparison {
	return layerComparison{layer: s.layer, engine: s.engine, host: s.host, place: s.place}
}

// FindOutOfBand implements [previewNodes] and, in [layerRun], [upCluster].
func (c layerComparison) FindOutOfBand(ctx context.Context) (outOfBand, error) {
	if !c.engine.refresh {
		return outOfBand{}, nil
	}
	exported, err := c.engine.state.Seen(ctx)
	if err != nil {
		return outOfBand{}, err
	}
	return c.layer.findByHand(ctx, c.host, exported.Deployment), ctx.Err()
}

// OtherImages implements [previewNodes].
func (layerComparison) OtherImages(context.Context) (OtherImages, error) { return OtherImages{}, nil }

// drift compares a layer by a preview with refresh, and by what a refresh does not read.
func (c layerComparison) drift(ctx context.Context) (drift.Report, error) {
	return driftRun{Place: c.place, Reach: reachOf(c.host), Host: c.hostDrift}.Run(ctx)
}

func (c layerComparison) hostDrift(ctx context.Context, report *drift.Report) error {
	seen, err := c.FindOutOfBand(ctx)
	if err != nil {
		return err
	}
	_, events, err := c.engine.preview(ctx)
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
