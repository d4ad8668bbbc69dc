package operator

import (
	"context"
	"io"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/tasks"
)

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

// runEngine runs an operation of the engine, writes its artifacts and reports its progress. It keeps the failures that the engine
// reports for the end of the run.
func (s *session) runEngine(ctx context.Context, command string, operate func(engineRun) error) error {
	reporter := progress.New(progressEvents{s.emit}, s.clock.Now)
	defer remind(reporter)()
	defer tasks.Follow(ctx, s.host, s.place.Stack, reporter)()
	err := s.recorder().record(ctx, command, s.operation(operate), func(event events.EngineEvent) { reporter.Add(event.EngineEvent) })
	s.failures = reporter.Failures()
	return err
}

// previewed runs a preview of the engine and returns its events.
func (s *session) previewed(ctx context.Context, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	return s.silently(ctx, opPreview, operate)
}

// silently runs an operation of the engine without reporting its progress, and returns its events.
func (s *session) silently(ctx context.Context, command string, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	var seen []apitype.EngineEvent
	reporter := progress.New(nil, s.clock.Now)
	err := s.recorder().record(ctx, command, s.operation(operate), func(event events.EngineEvent) {
		seen = append(seen, event.EngineEvent)
		reporter.Add(event.EngineEvent)
	})
	if err != nil {
		s.failures = reporter.Failures()
		return nil, s.Failed(ctx, command, err)
	}
	return seen, nil
}

// operation wraps a run of the engine: its plugins end with it, and its output becomes events.
func (s *session) operation(operate func(engineRun) error) func(chan<- events.EngineEvent) error {
	plugins := pluginGuard{tool: s.options.Tool, home: s.workspace.Home, endOrphans: s.recovery.EndOrphans}
	return func(stream chan<- events.EngineEvent) error {
		run := engineRun{events: stream, out: engineWriter{emit: s.emit}, err: engineWriter{emit: s.emit, isErr: true}}
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
