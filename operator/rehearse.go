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

// RehearseOptions are the options of [Operator.Rehearse].
type RehearseOptions struct {
	// Keep leaves the cluster and its lab running at the end. Default: false, they are destroyed.
	Keep bool
	// Log returns the receiver of the rehearsal's events, which writes to the rehearsal's log. Default: nil, the log has no events.
	Log func(out io.Writer) Events
}

// Rehearsal is the result of [Operator.Rehearse].
type Rehearsal struct {
	// Report contains each step and its unexpected results.
	Report *RehearsalReport
	// Stack and Inventory are the stack and inventory of the rehearsal, for commands on what is left of it.
	Stack, Inventory string
	// Place is the flags that select the rehearsal in commands of em-infra.
	Place string
	// Log is the path of the log.
	Log string
}

// Err returns [ErrNotWell] if any result was unexpected.
func (r *Rehearsal) Err() error {
	if !r.Report.Expected {
		return ErrNotWell
	}
	return nil
}

// readyPatience is the time limit for Nodes that are not Ready at the end of up. They normally become Ready within seconds.
const readyPatience = 2 * time.Minute

// Rehearse runs the whole life of the cluster on its own lab: preflight, up, a preview that must be empty, adding a worker, removing
// it, destroy. After each step it compares the lab with the inventory. It needs [Options.Lab]. It removes the lab at the end unless
// Keep is set or a result was unexpected; the next rehearsal removes it in any case.
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

	// The tools are installed before the first measurement.
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

// validationNote returns the note of the validate step.
func validationNote(inv *inventory.Inventory, extended *rehearsal.Extended) string {
	return fmt.Sprintf("%d nodes; one more is %s, VM %d", len(inv.Nodes), extended.Worker.Name, extended.Worker.VMID)
}
