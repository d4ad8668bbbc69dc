package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// UnlockOptions are the options of [Operator.Unlock].
type UnlockOptions struct {
	// Force removes any lock. Two simultaneous runs destroy a state. Default: false, only the locks of runs that have certainly
	// ended.
	Force bool
}

var errLocksUnseen = errors.New("the locks of a state that is in no folder of this machine cannot be judged from here: if no run works on this stack, add --force")

// Unlock removes the locks of dead runs from the state and returns their number; with Force it returns 0. Up and Destroy remove the
// locks of runs that have verifiably ended by themselves.
func (o *Operator) Unlock(ctx context.Context, options UnlockOptions) (int, error) {
	s, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return 0, err
	}
	if options.Force {
		return 0, s.state.Unlock(ctx)
	}
	if s.workspace.StateFolder() == "" {
		return 0, refused(errLocksUnseen)
	}
	cleared, err := s.recovery.ClearLocks()
	var busy *recovery.BusyError
	if errors.As(err, &busy) {
		return 0, refused(fmt.Errorf("%w; if that one is dead for certain, add --force", err))
	}
	return cleared, err
}
