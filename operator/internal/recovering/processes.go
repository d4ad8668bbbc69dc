package recovering

import (
	"context"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// SettleProcesses ends the processes of a killed run before anything else happens: its plugins continue, and could start a machine
// that is not in the state. It waits for an engine whose em-infra was killed, and refuses if another run is alive.
func (r *Recovery) SettleProcesses(ctx context.Context) error {
	if err := r.awaitAbandoned(ctx); err != nil {
		return err
	}
	_, err := r.ClearLocks(ctx)
	return err
}

// abandonedLimit is the time limit for an abandoned engine to finish its running operations: no wait of a plugin is longer.
const abandonedLimit = 30 * time.Minute

// awaitAbandoned waits for an engine whose em-infra was killed: it finishes its running operations and records them in the state.
func (r *Recovery) awaitAbandoned(ctx context.Context) error {
	owner, err := recovery.Owner(ctx, r.at())
	if err != nil || owner == nil || !owner.Abandoned(ctx) {
		return err
	}
	r.say(fmt.Sprintf("the run before was killed; its engine (process %d) finishes what it has begun, at most %d min", owner.PID, int(abandonedLimit.Minutes())))
	limited, cancel := context.WithTimeout(ctx, abandonedLimit)
	defer cancel()
	if err := owner.AwaitEnd(limited); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the engine (process %d) of a run that was killed does not end: look at what it waits for with `em-infra status %s`, end it with `kill -9 %d`, and run again", owner.PID, r.Place.Stack, owner.PID)
	}
	return context.Cause(ctx)
}

// at returns where the state is.
func (r *Recovery) at() recovery.Place {
	return recovery.Place{Backend: r.Workspace.Backend, Project: workspace.Project, Stack: r.Workspace.Stack}
}

// ClearLocks removes the lock of a dead run, ends its plugins, claims the stack until [Recovery.Release], and returns the number of locks. After an
// error the stack is not claimed.
func (r *Recovery) ClearLocks(ctx context.Context) (int, error) {
	return r.clearLocks(ctx, time.Time{})
}

// Unlock removes the locks of dead runs, and those from before a time, and returns their number.
func (r *Recovery) Unlock(ctx context.Context, before time.Time) (int, error) {
	return r.clearLocks(ctx, before)
}

func (r *Recovery) clearLocks(ctx context.Context, before time.Time) (int, error) {
	if r.claim != nil {
		return 0, nil
	}
	cleared, err := r.awaitTurn(ctx, before)
	if err != nil {
		return cleared, err
	}
	which := "plugins of an engine that was killed"
	if cleared > 0 {
		r.say("the run before was killed: its lock is removed")
		which = "of its plugins"
	}
	err = r.EndOrphans(which)
	if err != nil {
		r.Release(ctx)
	}
	return cleared, err
}

// Release ends the claim of [Recovery.ClearLocks]; without one it does nothing. It is called when the context may have ended. An engine of this run
// that was killed has left its lock, which is removed first. If that fails, the claim stays, so that the next run can judge the lock by it.
func (r *Recovery) Release(ctx context.Context) {
	if r.claim == nil {
		return
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	if err := r.claim.End(ending, r.at()); err != nil {
		r.say(fmt.Sprintf("this run still has its claim on the stack, because %v; the next run from this machine removes it, or `em-infra state unlock %s --force`", err, r.Place.Stack))
	}
	r.claim = nil
}

// releaseLimit is the time limit for the end of a claim.
const releaseLimit = time.Minute

// EndOrphans ends the plugins whose engine is dead. It does not depend on a lock, since a killed preview leaves none.
func (r *Recovery) EndOrphans(which string) error {
	ended, err := recovery.EndOrphans(r.Workspace.Home)
	if ended > 0 {
		r.say(fmt.Sprintf("%d %s still worked: they are ended", ended, which))
	}
	return err
}
