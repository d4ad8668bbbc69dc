package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// destroyRun is the order in which a stack is destroyed. Each step is done by one of the parts.
type destroyRun struct {
	recovery runRecovery
	host     destroyHost
	state    destroyState
	copies   stateCopies
	engine   destroyEngine

	stack string
	place remedy.Place
	tell  func(Event)
}

// destroyHost is what a destroy asks of Proxmox VE.
type destroyHost interface {
	// leftOf is what is still there of what a stack had.
	leftOf(ctx context.Context, had possessions) (status.Left, error)
}

// destroyState is what a destroy asks of the state.
type destroyState interface {
	// checkUnprotected refuses where anything is protected.
	checkUnprotected(ctx context.Context) error
	// possessions are what the stack has, and by which it is known on the host.
	possessions(ctx context.Context) (possessions, error)
	// forgetCredentials removes what opens a cluster that is gone.
	forgetCredentials() error
}

// destroyEngine is what a destroy has the engine do.
type destroyEngine interface {
	// confirmDestroy shows what would be deleted, and asks for consent.
	confirmDestroy(ctx context.Context) error
	// destroyAll lets the engine delete all that it knows.
	destroyAll(ctx context.Context) error
	// failed explains the error of the engine.
	failed(ctx context.Context, operation string, err error) error
}

var (
	_ destroyHost   = (*session)(nil)
	_ destroyState  = (*session)(nil)
	_ destroyEngine = (*session)(nil)
)

// run has the engine delete all that it knows, between everything that makes that safe.
func (r destroyRun) run(ctx context.Context) (*DestroyResult, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.engine.confirmDestroy(ctx); err != nil {
		return nil, err
	}
	if err := r.recovery.DeleteNeverRan(ctx); err != nil {
		return nil, err
	}
	had, err := r.state.possessions(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.engine.destroyAll(ctx); err != nil {
		return nil, r.engine.failed(ctx, opDestroy, err)
	}
	if err := r.state.forgetCredentials(); err != nil {
		return nil, err
	}
	return r.conclude(ctx, had)
}

// prepare gets the state ready to be destroyed by. Nothing is deleted yet.
func (r destroyRun) prepare(ctx context.Context) error {
	if err := r.recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	if err := r.state.checkUnprotected(ctx); err != nil {
		return err
	}
	if _, err := r.copies.BackUp(ctx, "before-destroy"); err != nil {
		return err
	}
	return r.recovery.Recover(ctx, false)
}

// conclude names what is on the host of a stack that was destroyed. The error is that of a machine that stays.
func (r destroyRun) conclude(ctx context.Context, had possessions) (*DestroyResult, error) {
	left, err := r.host.leftOf(ctx, had)
	if err != nil {
		return nil, fmt.Errorf("the state of %s is empty now; whether anything is left on the host is not known (%w): see that it answers, then run `em-infra destroy %s` again", r.stack, err, r.place.Stack)
	}
	for _, one := range slices.Concat(left.Machines, left.Disks, left.ISOs) {
		r.tell(LeftOnHost{What: one.What, Do: r.place.Complete(onHost(one))})
	}
	if len(left.Machines) > 0 {
		return nil, fmt.Errorf("%s is not gone: %d of its machines, which its state does not know, stay on the host: see above for what to do with each", r.stack, len(left.Machines))
	}
	return &DestroyResult{ISOs: len(left.ISOs)}, nil
}

// onHost is what to do about something that lies on the host.
func onHost(left status.Orphan) string {
	if left.Remove == "" {
		return left.Do
	}
	return fmt.Sprintf("if nobody needs it: `%s` on %s", left.Remove, left.Host)
}
