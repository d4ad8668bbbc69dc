package main

import (
	"context"
	"io"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/progress"
	"github.com/em-infra/em-infra/internal/terminal"
)

// engineRun is where a run of the engine leaves its events, and what it prints itself.
type engineRun struct {
	events   chan<- events.EngineEvent
	out, err io.Writer
}

// reminderInterval is how often it is looked whether something takes long.
const reminderInterval = time.Second

// told lets the engine work, keeps what that leaves behind, and tells a person in a line each what is done, as it is done.
// With --verbose the engine speaks for itself instead. What it reports as wrong is kept for the end of the run.
func (s *session) told(ctx context.Context, command string, operate func(engineRun) error) error {
	lines, run := s.out, engineRun{out: io.Discard, err: io.Discard}
	if s.verbose {
		lines, run = io.Discard, engineRun{out: terminal.Raw(s.out), err: terminal.Raw(s.err)}
	}
	teller := progress.New(lines, time.Now)
	defer remind(teller)()
	defer s.followTasks(ctx, teller)()
	err := s.recorded(ctx, command, func(stream chan<- events.EngineEvent) error {
		run.events = stream
		return s.guarded(func() error { return operate(run) })
	}, func(event events.EngineEvent) { teller.Add(event.EngineEvent) })
	s.failures = teller.Failures()
	return err
}

// previewed lets the engine think aloud only with --verbose, and returns its events.
func (s *session) previewed(ctx context.Context, operate func(engineRun) error) ([]apitype.EngineEvent, error) {
	run := engineRun{out: io.Discard, err: io.Discard}
	if s.verbose {
		run = engineRun{out: terminal.Raw(s.out), err: terminal.Raw(s.err)}
	}
	var seen []apitype.EngineEvent
	teller := progress.New(io.Discard, time.Now)
	err := s.recorded(ctx, "preview", func(stream chan<- events.EngineEvent) error {
		run.events = stream
		return s.guarded(func() error { return operate(run) })
	}, func(event events.EngineEvent) {
		seen = append(seen, event.EngineEvent)
		teller.Add(event.EngineEvent)
	})
	if err != nil {
		s.failures = teller.Failures()
		return nil, s.failed(ctx, "preview", err)
	}
	return seen, nil
}

// remind lets the teller mention what takes long, until it is stopped.
func remind(teller *progress.Teller) (stop func()) {
	ticker := time.NewTicker(reminderInterval)
	stopped := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				teller.Tick()
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
