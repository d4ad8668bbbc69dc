package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/systemsnapshots"
)

// foreseeSnapshots returns the snapshots of systems that are to be taken before a run, and adds to the assessment what that means. Only a
// stack of systems has any.
func (c stackChanges) foreseeSnapshots(ctx context.Context, steps []plan.Step, assessment *risk.Assessment) ([]systemsnapshots.Wanted, error) {
	layer, isSystems := c.content.(systemsLayer)
	if !isSystems {
		return nil, nil
	}
	reader, err := pve.NewReader(*c.host)
	if err != nil {
		return nil, err
	}
	return systemsnapshots.Foresee(ctx, reader, c.place.Stack, layer.File.Systems(), steps, assessment)
}

// KeepSnapshot implements [upCluster]. It removes none: that is done when the run has succeeded, see [layerRun.settleSnapshots].
func (l layerRun) KeepSnapshot(ctx context.Context, judged judgement) error {
	for _, wanted := range judged.Snapshots {
		if err := l.keepWayBack(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// keepWayBack takes the snapshot of one system, unless there is one from before a change that has not succeeded. It notes how to go back to the
// snapshot, which is printed at the end of a run that fails.
func (l layerRun) keepWayBack(ctx context.Context, wanted systemsnapshots.Wanted) error {
	name, what := wanted.Standing, "is from before the change of %s that has not succeeded, so no other is taken"
	if name == "" {
		snapshot := wanted.Snapshot(l.place.Stack, l.engine.clock.Now())
		if err := l.host.TakeSnapshot(ctx, wanted.Guest, snapshot); err != nil {
			return fmt.Errorf("%w: %s, then run up again; no system was changed", err, wanted.Mend(err))
		}
		name, what = snapshot.Name, "of %s is taken"
	}
	way := wanted.WayBack(name)
	l.engine.waysBack = append(l.engine.waysBack, wanted.System+": "+way)
	l.engine.emit(Note{Text: fmt.Sprintf("snapshot %s "+what+"; %s goes back to it", name, wanted.System, way)})
	return nil
}

// settleSnapshots marks the snapshots whose changes have succeeded, and removes the oldest ones beyond those that stay. It looks at all systems
// of which snapshots are taken, since an earlier run may have been killed before it came here.
func (l layerRun) settleSnapshots(ctx context.Context) error {
	layer, isSystems := l.layer.(systemsLayer)
	if !isSystems {
		return nil
	}
	kept := slices.DeleteFunc(layer.File.Systems(), func(one systems.System) bool { return one.KeptSnapshots() == 0 })
	if len(kept) == 0 {
		return nil
	}
	reader, err := pve.NewReader(l.host)
	if err != nil {
		return err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return fmt.Errorf("the systems are as they should be, but the list of guests cannot be read (%w), so no older snapshot was removed: run up again", err)
	}
	for _, system := range kept {
		at := slices.IndexFunc(guests, func(g pve.Guest) bool { return g.VMID == system.VMID })
		if at < 0 {
			continue // it was removed meanwhile, which the status reports
		}
		if err := l.settleSnapshotsOf(ctx, reader, system, guests[at]); err != nil {
			return fmt.Errorf("%s is as it should be, but %w: mend that, then run up again", system.Name, err)
		}
	}
	return nil
}

// settleSnapshotsOf does that for one system.
func (l layerRun) settleSnapshotsOf(ctx context.Context, reader pve.Reader, system systems.System, guest pve.Guest) error {
	taken, err := reader.Snapshots(ctx, guest)
	if err != nil {
		return fmt.Errorf("its snapshots cannot be read (%w)", err)
	}
	for _, snapshot := range systemsnapshots.Succeeded(l.place.Stack, taken) {
		if err := l.host.DescribeSnapshot(ctx, guest, snapshot); err != nil {
			return err
		}
	}
	for _, name := range systemsnapshots.Superfluous(l.place.Stack, system.KeptSnapshots(), taken) {
		if err := l.host.DeleteSnapshot(ctx, guest, name); err != nil {
			return err
		}
		l.engine.emit(Note{Text: fmt.Sprintf("snapshot %s of %s is removed: newer ones stay", name, system.Name)})
	}
	return nil
}
