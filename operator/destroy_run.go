package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// destroyRun is the order of steps in which a stack is destroyed.
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

// destroyHost is the access of a destroy to Proxmox VE.
type destroyHost interface {
	// leftOf returns what still exists of the stack's possessions.
	leftOf(ctx context.Context, had possessions) (status.Left, error)
}

// destroyState is the access of a destroy to the state.
type destroyState interface {
	// checkUnprotected refuses if any resource is protected.
	checkUnprotected(ctx context.Context) error
	// possessions returns what the stack has, and how the host identifies it.
	possessions(ctx context.Context) (possessions, error)
	// forgetCredentials removes the credentials of a deleted cluster.
	forgetCredentials() error
}

// destroyEngine is the access of a destroy to the engine.
type destroyEngine interface {
	// confirmDestroy shows what would be deleted and asks for consent.
	confirmDestroy(ctx context.Context) error
	// destroyAll deletes all resources of the state.
	destroyAll(ctx context.Context) error
	// failed explains an error of the engine.
	failed(ctx context.Context, operation string, err error) error
}

var (
	_ destroyHost   = destroyTarget{}
	_ destroyState  = destroyTarget{}
	_ destroyEngine = (*session)(nil)
)

// run destroys the stack, with the checks and the backup before it and the search for leftovers after it.
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

// prepare checks, backs up and cleans up the state. It deletes nothing on the host.
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

// conclude reports what a destroyed stack has left on the host. It returns an error if a machine is left.
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

// onHost returns what to do with something that is left on the host.
func onHost(left status.Orphan) string {
	if left.Remove == "" {
		return left.Do
	}
	return fmt.Sprintf("if nobody needs it: `%s` on %s", left.Remove, left.Host)
}
