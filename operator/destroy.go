package operator

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
)

// DestroyOptions are the options of [Operator.Destroy].
type DestroyOptions struct {
	// SkipRefresh uses the state as it is, without reading the host first. Default: false.
	SkipRefresh bool
}

// DestroyResult is the result of [Operator.Destroy].
type DestroyResult struct {
	// ISOs is the number of images that stay on the host: a machine with one of them in its drive could not start without it.
	ISOs int
}

// Destroy deletes everything that up created, after consent. The inventory and the backups of the state stay.
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
