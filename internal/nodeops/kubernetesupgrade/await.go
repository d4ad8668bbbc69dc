package kubernetesupgrade

import (
	"context"
	"errors"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// await returns when a condition holds. The error is why the condition did not hold at the last check within the limit, or why ctx has ended. The
// limit does not interrupt a check that has begun, because its error would then state only the timeout.
func (u Upgrade) await(ctx context.Context, limit time.Duration, holds func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errors.New("no answer")
	ended := poll.Until(limited, u.Limits.Interval, func(context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	switch {
	case ended == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return last
	}
}
