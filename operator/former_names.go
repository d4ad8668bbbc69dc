package operator

import (
	"cmp"
	"context"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/stacks"
)

// FindFormerNames sets the nodes that have another name in the state, so that the engine replaces their machines instead of creating
// second ones. It also reads the stack's owner and VMIDs, with which the preflight recognizes our own machines.
func (s *session) FindFormerNames(ctx context.Context) error {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	if s.owner, err = state.OwnerOf(s.workspace.Stack, exported.Deployment); err != nil {
		return err
	}
	s.known, s.datasets = state.KnownVMIDs(exported.Deployment), state.KnownDatasets(exported.Deployment)
	s.onNAS = state.KindsOnNAS(exported.Deployment)
	if s.inventory == nil {
		return nil
	}
	former, err := stacks.FormerNames(exported.Deployment, s.inventory)
	if err != nil {
		return refused(err)
	}
	if s.unmade, err = stacks.UnmadeImages(exported.Deployment, s.inventory, former); err != nil {
		return err
	}
	s.engine.program.FormerNames = former
	s.predecessors = stacks.Predecessors(exported.Deployment, s.inventory, former)
	s.engine.stack.Workspace().SetEnvVar(removal.SuccessorsVariable, successors(s.inventory, s.predecessors))
	s.engine.setProgram(s.engine.program.Until)
	return nil
}

// successors returns the nodes that have the place of another one, in the form that the removal of that one reads.
func successors(inv *inventory.Inventory, predecessors map[string]string) string {
	var pairs []string
	for _, name := range nodeNames(inv) {
		if former, has := predecessors[name]; has {
			pairs = append(pairs, former+"="+name)
		}
	}
	return strings.Join(pairs, ",")
}

// renameNodes renames nodes in the state, after the consent: the run that follows replaces their machines.
func (s *session) renameNodes(ctx context.Context) error {
	if len(s.engine.program.FormerNames) == 0 {
		return nil
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	stacks.Rename(&exported.Deployment, s.inventory, s.engine.program.FormerNames)
	return s.state.Import(ctx, exported)
}

// bornAs returns the name that a node has as long as its machine is not replaced.
func (s *session) bornAs(name string) string { return cmp.Or(s.predecessors[name], name) }
