package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// placeAt returns where the state of the stack is in a backend, which need not be the present one.
func (o *Operator) placeAt(backend string) recovery.Place {
	return recovery.Place{Backend: backend, Project: workspace.Project, Stack: o.workspace.Stack}
}

// clearLeft removes the locks of dead runs from a place that the state has left: `state unlock` works on the present place alone. A claim
// of another machine stays there, since nothing waits for it.
func (o *Operator) clearLeft(ctx context.Context, backend string) error {
	engine, err := recovery.RemoveDead(ctx, o.placeAt(backend))
	if err == nil && engine != nil {
		err = engine
	}
	return o.lockedThere(err, backend)
}

// claimThere claims a place to which the state moves, until end is called. The claim lets the next run judge the lock of an engine that is killed
// there.
func (o *Operator) claimThere(ctx context.Context, backend string) (end func() error, err error) {
	at := o.placeAt(backend)
	if _, err := recovery.ClearStaleLocks(ctx, at, time.Time{}); err != nil {
		return nil, o.lockedThere(err, backend)
	}
	claim, err := recovery.Take(ctx, at, o.clock.Now())
	if err != nil {
		return nil, o.lockedThere(err, backend)
	}
	return func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endThereLimit)
		defer cancel()
		return claim.End(ending, at)
	}, nil
}

// endThereLimit is the time limit for the end of a claim, which Ctrl-C does not cut off.
const endThereLimit = time.Minute

// lockedThere returns the refusal for a lock in a place that is not the present one.
func (o *Operator) lockedThere(err error, backend string) error {
	var busy *recovery.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	refusal := fmt.Errorf("another run works in %s on the state of stack %s (%s): wait for it to end, then run again", shown(backend), o.workspace.Stack, busy.Owner())
	if busy.IsUnseen() {
		refusal = fmt.Errorf("%w; if it is dead for certain, delete %s there", refusal, strings.Join(o.placeAt(backend).LockFolders(), " and "))
	}
	return refused(refusal)
}
