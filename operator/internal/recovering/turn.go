package recovering

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// Turn is how a run waits for another one on the same stack.
type Turn struct {
	// Offered is whether the command has the flag --wait, which the refusal names.
	Offered bool
	// Limit is how long it waits. Default: 0, it is refused at once.
	Limit time.Duration
	// Interval is the time between two looks; up to half of it is added, so that runs that wait do not look at the same moment. Default: 2 s.
	Interval time.Duration
	// Tell receives a sentence when the owner changes. Default: nil, nothing is reported.
	Tell func(string)
}

const lookInterval = 2 * time.Second

// awaitTurn removes locks of dead runs and claims the stack, and returns the number of locks. While another run works on it, it waits as
// long as the turn allows, and is refused then.
func (r *Recovery) awaitTurn(ctx context.Context, before time.Time) (int, error) {
	limited, cancel := context.WithTimeout(ctx, r.Turn.Limit)
	defer cancel()
	var reported string
	for {
		cleared, err := r.tryTurn(ctx, before)
		var busy *recovery.BusyError
		switch {
		case errors.Is(err, recovery.ErrJustEnded) && r.Turn.Limit > 0 && limited.Err() == nil:
		case !errors.As(err, &busy):
			return cleared, err
		case r.Turn.Limit == 0 || limited.Err() != nil && ctx.Err() == nil:
			return cleared, refusal.Of(r.refused(busy.Lock, err))
		case busy.Owner() != reported && r.Turn.Tell != nil:
			reported = busy.Owner()
			r.Turn.Tell(fmt.Sprintf("waits until another run ends, at most %s (--wait): %s", r.Turn.Limit, reported))
		}
		select {
		case <-ctx.Done():
			return cleared, context.Cause(ctx)
		case <-limited.Done():
		case <-time.After(r.Turn.next()):
		}
	}
}

// tryTurn tries once to remove locks of dead runs and to claim the stack.
func (r *Recovery) tryTurn(ctx context.Context, before time.Time) (int, error) {
	cleared, err := recovery.ClearStaleLocks(ctx, r.at(), before)
	if err == nil {
		r.claim, err = recovery.Take(ctx, r.at(), r.Now())
	}
	return cleared, err
}

// refused adds to the refusal of a busy stack what the flag does, or that its time is over, and what to do about a run whose
// process is not seen from here: if it is dead, no wait ends.
func (r *Recovery) refused(by recovery.Lock, busy error) error {
	switch {
	case r.Turn.Limit > 0:
		busy = fmt.Errorf("%w; the %s of --wait are over", busy, r.Turn.Limit)
	case r.Turn.Offered:
		busy = fmt.Errorf("%w, or add --wait 30m", busy)
	}
	if by.IsUnseen() {
		busy = fmt.Errorf("%w; if it is dead for certain, `em-infra state unlock --force` removes its lock", busy)
	}
	return busy
}

func (t Turn) next() time.Duration {
	interval := t.Interval
	if interval == 0 {
		interval = lookInterval
	}
	return interval + rand.N(interval/2) //nolint:gosec // no secret depends on it
}
