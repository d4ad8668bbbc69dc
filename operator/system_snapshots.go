package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

// foreseeSnapshots returns the snapshots of systems that are to be taken before a run, and adds to the assessment what that means. Only a
// stack of systems has any.
func (s *session) foreseeSnapshots(ctx context.Context, steps []plan.Step, assessment *risk.Assessment) ([]systemsnapshots.Wanted, error) {
	layer, isSystems := s.layer.(systemsLayer)
	if !isSystems {
		return nil, nil
	}
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return nil, err
	}
	return systemsnapshots.Foresee(ctx, reader, layer.File.Systems(), steps, assessment)
}

// KeepSnapshot implements [upCluster]. It takes the snapshots of all systems that are changed before it removes older ones, so that a run
// that stops here has removed none.
func (l layerRun) KeepSnapshot(ctx context.Context, judged judgement) error {
	for _, wanted := range judged.Snapshots {
		if err := l.takeSnapshot(ctx, wanted); err != nil {
			return err
		}
	}
	for _, wanted := range judged.Snapshots {
		if err := l.removeSuperfluous(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// takeSnapshot takes the snapshot of one system, and notes how to go back to it, for the end of a run that fails.
func (l layerRun) takeSnapshot(ctx context.Context, wanted systemsnapshots.Wanted) error {
	snapshot := wanted.Snapshot(l.place.Stack, l.clock.Now())
	if err := l.host.TakeSnapshot(ctx, wanted.Guest, snapshot); err != nil {
		return fmt.Errorf("%w: mend that, or set snapshots: {keep: 0} for %s, then run up again; no system was changed", err, wanted.System)
	}
	way := wanted.System + ": " + wanted.WayBack(snapshot.Name)
	l.waysBack = append(l.waysBack, way)
	l.emit(Note{Text: fmt.Sprintf("snapshot %s of %s is taken; %s goes back to it", snapshot.Name, wanted.System, wanted.WayBack(snapshot.Name))})
	return nil
}

// removeSuperfluous removes the oldest snapshots of earlier runs.
func (l layerRun) removeSuperfluous(ctx context.Context, wanted systemsnapshots.Wanted) error {
	reader, err := pve.NewReader(l.host)
	if err != nil {
		return err
	}
	taken, err := reader.Snapshots(ctx, wanted.Guest)
	if err != nil {
		return fmt.Errorf("the snapshots of %s cannot be read (%w): see that the host answers, then run up again; no system was changed", wanted.System, err)
	}
	for _, name := range wanted.Superfluous(l.place.Stack, taken) {
		if err := l.host.DeleteSnapshot(ctx, wanted.Guest, name); err != nil {
			return fmt.Errorf("%w: mend that, then run up again; no system was changed", err)
		}
		l.emit(Note{Text: fmt.Sprintf("snapshot %s of %s is removed: newer ones stay", name, wanted.System)})
	}
	return nil
}
