package operator

import (
	"context"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/em-infra/em-infra/operator/internal/span"
)

var (
	_ upHost    = (*hostChecks)(nil)
	_ upState   = (*session)(nil)
	_ upEngine  = stackChanges{}
	_ upCluster = (*session)(nil)
	_ upRestore = (*restorer)(nil)
)

// PrepareState implements [upState].
func (s *session) PrepareState(ctx context.Context, seen outOfBand, judged judgement) error {
	if err := s.own.renameNodes(ctx); err != nil {
		return err
	}
	if err := seen.note(ctx, s.state); err != nil {
		return err
	}
	return s.configureAgain(ctx, judged)
}

// Update implements [upEngine].
func (c stackChanges) Update(ctx context.Context, w work, reachesCluster bool) error {
	targets, excluded := span.Scope(w.Targets, !reachesCluster)
	excluded = append(excluded, w.Later...)
	options := []optup.Option{optup.Target(targets), optup.Exclude(excluded), optup.Replace(w.Replace), optup.SuppressOutputs(),
		optup.Parallel(parallelFor(c.cluster(), os.LookupEnv))}
	defer c.restorer.keepJoining(ctx)()
	return c.onTargets(ctx, targets, func() error {
		return c.run(ctx, w.Name, func(run engineRun) error {
			_, err := c.stack.Up(ctx, append(options, optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))...)
			return err
		})
	})
}
