package operator

import (
	"context"
	"io"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/operator/internal/progress"
)

// engineRun is where a run of the engine leaves its events, and what it prints itself.
type engineRun struct {
	events   chan<- events.EngineEvent
	out, err io.Writer
}

// reminderInterval is how often it is checked whether something takes long.
const reminderInterval = time.Second

// The operations whose engine can fail, as the command line names them.
const (
	opUp      = "up"
	opPreview = "preview"
	opDestroy = "destroy"
)

// runEngine lets the engine work, keeps what that leaves behind, and tells what is done, as it is done. What the engine reports
// as wrong is kept for the end of the run.
func (s *session) runEngine(ctx context.Context, command string, operate func(engineRun) error) error {
	reporter := progress.New(progressEvents{s.emit}, s.clock.Now)
	defer remind(reporter)()
	defer s.followTasks(ctx, reporter)()
	err := s.recorded(ctx, command, s.operation(operate), func(event events.EngineEvent) { reporter.Add(event.EngineEvent) })
	s.failures = reporter.Failures()
	return err
}

// previewed lets the engine think, and returns its events.
func (s *session) previewed(ctx context.Context, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	var seen []apitype.EngineEvent
	reporter := progress.New(nil, s.clock.Now)
	err := s.recorded(ctx, opPreview, s.operation(operate), func(event events.EngineEvent) {
		seen = append(seen, event.EngineEvent)
		reporter.Add(event.EngineEvent)
	})
	if err != nil {
		s.failures = reporter.Failures()
		return nil, s.failed(ctx, opPreview, err)
	}
	return seen, nil
}

// operation is a run of the engine whose plugins end with it, and whose own words are events.
func (s *session) operation(operate func(engineRun) error) func(chan<- events.EngineEvent) error {
	return func(stream chan<- events.EngineEvent) error {
		run := engineRun{events: stream, out: engineWriter{emit: s.emit}, err: engineWriter{emit: s.emit, isErr: true}}
		return s.guarded(func() error { return operate(run) })
	}
}

// remind has the reporter mention what takes long, until it is stopped.
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
