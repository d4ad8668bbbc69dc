package operator

import (
	"cmp"
	"context"
	"path"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// probes is the folder below the state for the objects of probes. The engine reads nothing there.
const probes = ".pulumi/probes"

// probe returns the probe of a place for states; ok is false if the place is no bucket of S3.
func (s *session) probe(at string) (probe bucket.Probe, ok bool) {
	return bucket.Probe{URL: at, Folder: path.Join(probes, workspace.Project, s.workspace.Stack), CLI: s.state.Command.Version()},
		address.IsS3(at)
}

// checkPlace refuses a place where no state can be kept, before anything is written there.
func (s *session) checkPlace(ctx context.Context, at string) error {
	probe, ok := s.probe(at)
	if !ok {
		return nil
	}
	if err := probe.Run(ctx); err != nil {
		return refused(err)
	}
	return nil
}

// selected returns why the engine could not open its state: a bucket that fails the probe says it in one sentence.
func (s *session) selected(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return sentenceOf(err)
	}
	return cmp.Or(s.checkPlace(ctx, s.workspace.Backend), sentenceOf(err))
}

// probeState starts the check of the bucket with the state, and returns what waits for it. Its report is empty if the state is in none.
func (s *session) probeState(ctx context.Context) func() (preflight.Report, error) {
	probe, ok := s.probe(s.workspace.Backend)
	if !ok {
		return func() (preflight.Report, error) { return nil, nil }
	}
	type outcome struct {
		check preflight.Check
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		check, err := preflight.State(ctx, probe)
		done <- outcome{check, err}
	}()
	return func() (preflight.Report, error) {
		result := <-done
		return preflight.Report{result.check}, result.err
	}
}
