package operator

import (
	"context"
	"errors"
	"time"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// UnlockOptions are the options of [Operator.Unlock].
type UnlockOptions struct {
	// Force removes any lock. Two simultaneous runs destroy a state. Default: false, only the locks of runs that have certainly
	// ended, and in a bucket those that are older than a day.
	Force bool
}

var errLocksUnseen = errors.New("the locks of a state that is neither in a folder of this machine nor in a bucket of S3 cannot be judged from here: if no run works on this stack, add --force")

// Unlock removes the locks of dead runs from the state and returns their number; with Force it returns 0. Up and Destroy remove the
// locks of runs that have verifiably ended by themselves.
func (o *Operator) Unlock(ctx context.Context, options UnlockOptions) (int, error) {
	if options.Force && o.workspace.StateFolder() != "" { // otherwise a claim that cannot be read would prevent its own removal
		if err := recovery.RemoveClaims(ctx, o.stateAt()); err != nil {
			return 0, err
		}
	}
	s, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return 0, err
	}
	defer s.recovery.Release(ctx)
	if options.Force {
		return 0, errors.Join(s.state.Unlock(ctx), recovery.RemoveClaims(ctx, s.stateAt()))
	}
	var before time.Time
	if s.workspace.StateFolder() == "" {
		if !address.IsS3(s.workspace.Backend) {
			return 0, refused(errLocksUnseen)
		}
		before = s.clock.Now().Add(-recovery.Abandonable)
	}
	return s.recovery.Unlock(ctx, before)
}
