package operator

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
)

// DestroyOptions say how a stack is destroyed.
type DestroyOptions struct {
	// SkipRefresh takes the state as it is instead of reading the host first. Default: false.
	SkipRefresh bool
}

// DestroyResult is what a destroy left.
type DestroyResult struct {
	// ISOs are the images that stay on the host: a machine that names one in its drive would not start without it.
	ISOs int
}

// Destroy deletes everything that up made, after a consent. The inventory and the backups of the state stay.
func (o *Operator) Destroy(ctx context.Context, options DestroyOptions) (*DestroyResult, error) {
	s, err := o.begin(ctx, needs{refresh: !options.SkipRefresh, consent: "delete all of it"})
	if err != nil {
		return nil, err
	}
	return destroyRun{recovery: s.recovery, host: s, state: s, copies: s.state, engine: s, stack: s.workspace.Stack, place: s.place, tell: s.emit}.run(ctx)
}

// destroyAll implements [destroyEngine].
func (s *session) destroyAll(ctx context.Context) error {
	return s.runEngine(ctx, opDestroy, func(run engineRun) error {
		_, err := s.stack.Destroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
}
