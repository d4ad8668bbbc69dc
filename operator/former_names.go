package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/stacks"
)

// findFormerNames sets the nodes that have another name in the state, so that the engine replaces their machines instead of creating
// second ones. It also reads the stack's owner and VMIDs, with which the preflight recognizes our own machines.
func (s *session) findFormerNames(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	former, err := stacks.FormerNames(exported.Deployment, s.inventory)
	if err != nil {
		return refused(err)
	}
	if s.owner, err = state.OwnerOf(s.workspace.Stack, exported.Deployment); err != nil {
		return err
	}
	s.known = state.KnownVMIDs(exported.Deployment)
	s.program.FormerNames = former
	s.setProgram(s.program.Until)
	return nil
}

// renameNodes renames nodes in the state, after the consent: the run that follows replaces their machines.
func (s *session) renameNodes(ctx context.Context) error {
	if len(s.program.FormerNames) == 0 {
		return nil
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	stacks.Rename(&exported.Deployment, s.inventory, s.program.FormerNames)
	return s.state.Import(ctx, exported)
}
