package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// UnlockOptions say which locks are taken off a state.
type UnlockOptions struct {
	// Force takes any lock; two runs at once destroy a state. Default: false, those of runs that are dead for certain.
	Force bool
}

var errLocksUnseen = errors.New("the locks of a state that is in no folder of this machine cannot be judged from here: if no run works on this stack, add --force")

// Unlock takes the locks of runs that are dead off the state, and returns how many there were; with Force that is not known. Up
// and Destroy unlock by themselves what can be seen to be dead.
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
