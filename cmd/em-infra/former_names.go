package main

import (
	"context"

	"github.com/em-infra/em-infra/stacks"
)

// findFormerNames tells the program which nodes the state knows by another name, so that the engine replaces them instead
// of making one beside the other.
func (s *session) findFormerNames(ctx context.Context) error {
	exported, err := s.state.Export(ctx)
	if err != nil {
		return err
	}
	former, err := stacks.FormerNames(exported.Deployment, s.inventory)
	if err != nil {
		return refused(err)
	}
	s.program.FormerNames = former
	s.setProgram(s.program.Until)
	return nil
}
