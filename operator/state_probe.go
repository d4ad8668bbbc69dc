package operator

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// probes is the folder below the state for the objects of probes. The engine reads nothing there.
const probes = ".pulumi/probes"

// statePlace is a place for the state of a stack.
type statePlace struct {
	stack, backend string
	cli            *engine.Command
}

// statePlace returns a place for the session's state.
func (s *session) statePlace(backend string) statePlace {
	return statePlace{stack: s.workspace.Stack, backend: backend, cli: s.state.Command}
}

// probe returns the probe of the place; ok is false if it is no bucket of S3.
func (p statePlace) probe() (probe bucket.Probe, ok bool) {
	if !address.IsS3(p.backend) {
		return bucket.Probe{}, false
	}
	return bucket.Probe{URL: p.backend, Folder: path.Join(probes, workspace.Project, p.stack), CLI: p.cli.Version()}, true
}

// check refuses a place where no state can be kept, before anything is written there.
func (p statePlace) check(ctx context.Context) error {
	if isAbsentFolder(p.backend) {
		return refused(fmt.Errorf("there is no folder %s for the state of stack %s: create it, or correct its URL", workspace.FolderOf(p.backend), p.stack))
	}
	probe, ok := p.probe()
	if !ok {
		return nil
	}
	if err := probe.Run(ctx); err != nil {
		return refused(err)
	}
	return nil
}

// explained returns why the engine could not open its state there: the refusal of check if there is one, which is one sentence, else the error of the
// engine.
func (p statePlace) explained(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return sentenceOf(err)
	}
	return cmp.Or(p.check(ctx), sentenceOf(err))
}

// beginCheck starts the check of the bucket with the state, and returns a function that waits for it. The report is empty if the state is in no
// bucket of S3.
func (p statePlace) beginCheck(ctx context.Context) func() (preflight.Report, error) {
	probe, ok := p.probe()
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
