package operator

import (
	"context"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/em-infra/em-infra/operator/internal/span"
)

var (
	_ upHost    = (*session)(nil)
	_ upState   = (*session)(nil)
	_ upEngine  = (*session)(nil)
	_ upCluster = (*session)(nil)
	_ upRestore = (*restorer)(nil)
)

// PrepareState implements [upState].
func (s *session) PrepareState(ctx context.Context, seen outOfBand, judged judgement) error {
	if err := s.renameNodes(ctx); err != nil {
		return err
	}
	if err := seen.note(ctx, s.state); err != nil {
		return err
	}
	return s.configureAgain(ctx, judged)
}

// Update implements [upEngine].
func (s *session) Update(ctx context.Context, w work, reachesCluster bool) error {
	targets, excluded := span.Scope(w.Targets, !reachesCluster)
	excluded = append(excluded, w.Later...)
	options := []optup.Option{optup.Target(targets), optup.Exclude(excluded), optup.Replace(w.Replace), optup.SuppressOutputs(),
		optup.Parallel(parallelFor(s.inventory, os.LookupEnv))}
	defer s.restorer.keepJoining(ctx)()
	return s.onTargets(ctx, targets, func() error {
		return s.runEngine(ctx, w.Name, func(run engineRun) error {
			_, err := s.stack.Up(ctx, append(options, optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))...)
			return err
		})
	})
}
