package operator

import (
	"context"

	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/stacks"
)

// findFormerNames tells the program which nodes the state knows by another name, so that the engine replaces them instead
// of making one beside the other. Whose machines a preflight is to take for ours is known from then on, too.
func (s *session) findFormerNames(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	former, err := stacks.FormerNames(exported.Deployment, s.inventory)
	if err != nil {
		return refused(err)
	}
	if s.owner, err = recovery.OwnerOf(s.workspace.Stack, &exported.Deployment); err != nil {
		return err
	}
	s.known = recovery.KnownVMIDs(&exported.Deployment)
	s.program.FormerNames = former
	s.setProgram(s.program.Until)
	return nil
}

// renameNodes gives nodes their names in the state, when somebody has agreed to what that means: their machines are replaced by
// the run that follows.
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
