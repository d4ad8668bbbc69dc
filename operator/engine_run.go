package operator

import (
	"context"
	"io"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/tasks"
	"github.com/em-infra/em-infra/stacks"
)

// stackEngine is the engine on a stack, what its last run has reported, and what the message of a failed run contains about this operation.
type stackEngine struct {
	*Operator

	stack      auto.Stack
	state      *stackstate.State
	host       *pve.Connection // it is known when the configuration is read
	place      remedy.Place
	content    Content // the inventory of the stack, as deployed; nil if the operation has read none
	recovery   *recovering.Recovery
	refresh    bool               // the engine reads the host before it compares
	secrets    []string           // of the configuration; must never be shown
	program    stacks.Options     // of the program that the engine runs
	configured artifacts.Planned  // the program's machine configurations
	unread     unreadChanges      // of machine configurations
	refusal    programRefusal     // of the program in the last run
	failures   []progress.Failure // the errors that the engine reported in its last run
	consented  []Permission       // that the changes of this run need; nil before they are assessed
	waysBack   []string           // to the snapshots of systems that this run has taken
}

// cluster returns the inventory of the stack's cluster; nil if it has none.
func (e *stackEngine) cluster() *inventory.Inventory {
	inv, _ := e.content.(*inventory.Inventory)
	return inv
}

// engineRun has the destinations of the engine's events and output.
type engineRun struct {
	events   chan<- events.EngineEvent
	out, err io.Writer
}

// reminderInterval is the interval between the checks for operations that take long.
const reminderInterval = time.Second

// Names of the operations whose engine can fail, as on the command line.
const (
	opUp      = "up"
	opPreview = "preview"
	opDestroy = "destroy"
	opAdopt   = "adopt"
)

// run runs an operation of the engine, writes its artifacts and reports its progress. It keeps the failures that the engine
// reports for the end of the run.
func (e *stackEngine) run(ctx context.Context, command string, operate func(engineRun) error) error {
	reporter := progress.New(progressEvents{e.emit}, e.clock.Now)
	defer remind(reporter)()
	defer tasks.Follow(ctx, *e.host, e.place.Stack, reporter)()
	err := e.recorder().record(ctx, command, e.operation(operate), func(event events.EngineEvent) { reporter.Add(event.EngineEvent) })
	e.failures = reporter.Failures()
	return err
}

// previewed runs a preview of the engine and returns its events.
func (e *stackEngine) previewed(ctx context.Context, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	return e.silently(ctx, opPreview, operate)
}

// silently runs an operation of the engine without reporting its progress, and returns its events.
func (e *stackEngine) silently(ctx context.Context, command string, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	var seen []apitype.EngineEvent
	reporter := progress.New(nil, e.clock.Now)
	err := e.recorder().record(ctx, command, e.operation(operate), func(event events.EngineEvent) {
		seen = append(seen, event.EngineEvent)
		reporter.Add(event.EngineEvent)
	})
	if err != nil {
		e.failures = reporter.Failures()
		return nil, e.Failed(ctx, command, err)
	}
	return seen, nil
}

// preview runs the engine's preview and returns the number of its steps by operation, and its events.
func (e *stackEngine) preview(ctx context.Context, options ...optpreview.Option) (changes map[apitype.OpType]int, seen []apitype.EngineEvent, err error) {
	lost, err := e.lostISOs(ctx)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, optpreview.Replace(lost))
	var result auto.PreviewResult
	seen, err = e.previewed(ctx, func(run engineRun) (err error) {
		result, err = e.stack.Preview(ctx, append(options, optpreview.ProgressStreams(run.out), optpreview.ErrorProgressStreams(run.err), optpreview.EventStreams(run.events))...)
		return err
	})
	return result.ChangeSummary, e.recovery.WithRecoveries(seen), err
}

// operation wraps a run of the engine: its plugins end with it, and its output becomes events.
func (e *stackEngine) operation(operate func(engineRun) error) func(chan<- events.EngineEvent) error {
	plugins := pluginGuard{tool: e.options.Tool, home: e.workspace.Home, endOrphans: e.recovery.EndOrphans}
	return func(stream chan<- events.EngineEvent) error {
		run := engineRun{events: stream, out: engineWriter{emit: e.emit}, err: engineWriter{emit: e.emit, isErr: true}}
		return plugins.run(func() error { return operate(run) })
	}
}

// remind makes the reporter report operations that take long, until stop is called.
func remind(reporter *progress.Reporter) (stop func()) {
	ticker := time.NewTicker(reminderInterval)
	stopped := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				reporter.Tick()
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(stopped)
	}
}
