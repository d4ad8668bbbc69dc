package operator

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
)

var (
	_ upHost    = (*session)(nil)
	_ upState   = (*session)(nil)
	_ upEngine  = (*session)(nil)
	_ upCluster = (*session)(nil)
	_ upRestore = (*session)(nil)
)

// prepareState implements [upState].
func (s *session) prepareState(ctx context.Context, seen outOfBand, judged judgement) error {
	if err := s.renameNodes(ctx); err != nil {
		return err
	}
	if err := seen.note(ctx, s.state); err != nil {
		return err
	}
	return s.configureAgain(ctx, judged)
}

// update implements [upEngine].
func (s *session) update(ctx context.Context, w work, reachesCluster bool) error {
	targets, excluded := scope(w.targets, !reachesCluster)
	excluded = append(excluded, w.later...)
	options := []optup.Option{optup.Target(targets), optup.Exclude(excluded), optup.Replace(w.replace), optup.SuppressOutputs()}
	defer s.keepJoining(ctx)()
	return s.onTargets(ctx, targets, func() error {
		return s.runEngine(ctx, w.name, func(run engineRun) error {
			_, err := s.stack.Up(ctx, append(options, optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))...)
			return err
		})
	})
}
