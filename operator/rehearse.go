package operator

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

// RehearseOptions say how a stack is rehearsed.
type RehearseOptions struct {
	// Keep leaves the cluster and its lab running at the end. Default: false, it is destroyed.
	Keep bool
	// Log makes of the file of the rehearsal's log what is told of the operations in it. Default: nil, the log has no events.
	Log func(out io.Writer) Events
}

// Rehearsal is how a rehearsal went.
type Rehearsal struct {
	// Report has each step with what was not as expected.
	Report *RehearsalReport
	// Stack and Inventory are those of the rehearsal, for commands on what is left of it.
	Stack, Inventory string
	// Place is the flags that lead a command of em-infra to what is left of it.
	Place string
	// Log is the file of its log.
	Log string
}

// Err is [ErrNotWell] where anything was not as expected.
func (r *Rehearsal) Err() error {
	if !r.Report.Expected {
		return ErrNotWell
	}
	return nil
}

// readyPatience is for Nodes that are not Ready when up ends; they are in seconds, unless something is wrong.
const readyPatience = 2 * time.Minute

// Rehearse lives the life of the cluster in one go, on a lab of its own: preflight, up, a preview in which nothing may change, one
// worker more, one worker less, destroy. What is found after each step is compared with the inventory. It needs [Options.Lab]. The
// lab is removed at the end unless something was not as expected, and before the next rehearsal begins.
func (o *Operator) Rehearse(ctx context.Context, options RehearseOptions) (*Rehearsal, error) {
	started := o.clock.Now()
	inv, err := o.Inventory()
	if err != nil {
		return nil, refused(err)
	}
	extended, err := rehearsal.WithAWorkerMore(inv)
	if err != nil {
		return nil, refused(err)
	}
	report := rehearsal.NewReport(inv.Cluster.Name)
	done := func(step rehearsal.Step) { o.emit(Rehearsed{step}) }
	validated := rehearsal.Step{Name: "validate", Note: validationNote(inv, extended), Seconds: o.clock.Now().Sub(started).Seconds()}
	report.Add(validated)

	// The tools are there before the first time is taken.
	if _, err := toolchain.Install(ctx, toolchain.Options{Progress: o.toolsProgress(), Rehearsal: true}); err != nil {
		return nil, err
	}
	stage, err := o.setStage(ctx, options, inv, extended)
	if err != nil {
		return nil, err
	}
	done(validated)
	life := rehearsal.Life{
		System: stage, Inventory: inv, Extended: extended, Keep: options.Keep, Patience: readyPatience, Done: done,
	}
	life.Run(ctx, report)
	if err := stage.tearDown(context.WithoutCancel(ctx), options.Keep, report.Expected); err != nil {
		return nil, err
	}
	return &Rehearsal{
		Report: report, Stack: stage.workspace.Stack, Inventory: stage.options.Inventory, Place: stage.Place(), Log: stage.log.Name(),
	}, nil
}

// validationNote is what validation says of the two inventories.
func validationNote(inv *inventory.Inventory, extended *rehearsal.Extended) string {
	return fmt.Sprintf("%d nodes; one more is %s, VM %d", len(inv.Nodes), extended.Worker.Name, extended.Worker.VMID)
}
