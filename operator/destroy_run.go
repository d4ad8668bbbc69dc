package operator

import (
	"context"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/refusal"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// destroyRun is the order of steps in which a stack is destroyed.
type destroyRun struct {
	Recovery runRecovery
	Host     destroyHost
	State    destroyState
	Copies   stateCopies
	Engine   destroyEngine
	Storage  destroyStorage

	Stack string
	Place remedy.Place
	Tell  func(Event)
}

// destroyHost is the access of a destroy to Proxmox VE.
type destroyHost interface {
	// CheckNotNeeded refuses while clusters are there that need what the stack has.
	CheckNotNeeded(ctx context.Context) error
	// LeftOf returns what still exists of the stack's possessions.
	LeftOf(ctx context.Context, had possessions) (status.Left, error)
}

// destroyStorage is the access of a destroy to the NAS.
type destroyStorage interface {
	// CheckNAS refuses if the NAS does not answer or refuses the login although the destroy deletes something there.
	CheckNAS(ctx context.Context) error
}

// destroyState is the access of a destroy to the state.
type destroyState interface {
	// CheckUnprotected refuses if any resource is protected.
	CheckUnprotected(ctx context.Context) error
	// Possessions returns what the stack has, and how the host identifies it.
	Possessions(ctx context.Context) (possessions, error)
	// ForgetCredentials removes the credentials of a deleted cluster.
	ForgetCredentials() error
}

// destroyEngine is the access of a destroy to the engine.
type destroyEngine interface {
	// ConfirmDestroy shows what would be deleted and asks for consent.
	ConfirmDestroy(ctx context.Context) error
	// DestroyAll deletes all resources of the state.
	DestroyAll(ctx context.Context) error
	// Failed explains an error of the engine.
	Failed(ctx context.Context, operation string, err error) error
}

var (
	_ destroyHost    = destroyTarget{}
	_ destroyState   = destroyTarget{}
	_ destroyEngine  = deletion{}
	_ destroyStorage = destroyTarget{}
)

// Run destroys the stack, with the checks and the backup before it and the search for leftovers after it.
func (r destroyRun) Run(ctx context.Context) (*DestroyResult, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.Engine.ConfirmDestroy(ctx); err != nil {
		return nil, err
	}
	if err := r.Recovery.DeleteNeverRan(ctx); err != nil {
		return nil, err
	}
	had, err := r.State.Possessions(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Engine.DestroyAll(ctx); err != nil {
		return nil, r.Engine.Failed(ctx, opDestroy, err)
	}
	if err := r.State.ForgetCredentials(); err != nil {
		return nil, err
	}
	return r.conclude(ctx, had)
}

// prepare checks, backs up and cleans up the state. It deletes nothing on the host.
func (r destroyRun) prepare(ctx context.Context) error {
	if err := r.Recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	if err := r.State.CheckUnprotected(ctx); err != nil {
		return err
	}
	if err := r.Host.CheckNotNeeded(ctx); err != nil {
		return err
	}
	if err := r.Storage.CheckNAS(ctx); err != nil {
		return err
	}
	if _, err := r.Copies.BackUp(ctx, "before-destroy"); err != nil {
		return err
	}
	return r.Recovery.Recover(ctx, false)
}

// conclude reports what a destroyed stack has left on the host. It returns an error if a machine is left.
func (r destroyRun) conclude(ctx context.Context, had possessions) (*DestroyResult, error) {
	left, err := r.Host.LeftOf(ctx, had)
	if err != nil {
		return nil, refusal.AfterChanges(fmt.Errorf("the state of %s is empty now, but the host could not be asked what is left on it (%w): see that it answers, then run `em-infra destroy %s` again", r.Stack, err, r.Place.Stack))
	}
	for _, one := range slices.Concat(left.Machines, left.Unclear, left.Disks, left.ISOs) {
		r.Tell(LeftOnHost{What: one.What, Do: r.Place.Complete(onHost(one))})
	}
	if len(left.Machines) > 0 {
		return nil, fmt.Errorf("%s is not gone: %d of its machines, which its state does not know, stay on the host: see above for what to do with each", r.Stack, len(left.Machines))
	}
	return &DestroyResult{ISOs: len(left.ISOs)}, nil
}

// onHost returns what to do with something that is left on the host.
func onHost(left status.Orphan) string {
	if left.Remove == "" {
		return left.Do
	}
	return fmt.Sprintf("if it is no longer needed: `%s` on %s", left.Remove, left.Host)
}
