package operator

import (
	"cmp"
	"context"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/stacks"
)

// ownResources are what the state says that the stack has, by which the checks recognize it, and the nodes that have another name there.
type ownResources struct {
	engine *stackEngine

	owner    ownership.Owner // identifies our machines
	known    []int           // the VMIDs
	unmade   []string        // the gpu-workers whose images are not made yet
	datasets []string        // on TrueNAS
	onNAS    []tokens.Type   // the types of what is there
	// predecessors are the names of the nodes whose machines are replaced under another name, by their present names
	predecessors map[string]string
}

// FindFormerNames sets the nodes that have another name in the state, so that the engine replaces their machines instead of creating
// second ones. It also reads the stack's owner and VMIDs, with which the preflight recognizes our own machines.
func (o *ownResources) FindFormerNames(ctx context.Context) error {
	exported, err := o.engine.state.Seen(ctx)
	if err != nil {
		return err
	}
	if o.owner, err = state.OwnerOf(o.engine.workspace.Stack, exported.Deployment); err != nil {
		return err
	}
	o.known, o.datasets = state.KnownVMIDs(exported.Deployment), state.KnownDatasets(exported.Deployment)
	o.onNAS = state.KindsOnNAS(exported.Deployment)
	inv := o.engine.cluster()
	if inv == nil {
		return nil
	}
	former, err := stacks.FormerNames(exported.Deployment, inv)
	if err != nil {
		return refused(err)
	}
	if o.unmade, err = stacks.UnmadeImages(exported.Deployment, inv, former); err != nil {
		return err
	}
	o.engine.program.FormerNames = former
	o.predecessors = stacks.Predecessors(exported.Deployment, inv, former)
	o.engine.stack.Workspace().SetEnvVar(removal.SuccessorsVariable, successors(inv, o.predecessors))
	o.engine.setProgram(o.engine.program.Until)
	return nil
}

// successors returns the nodes that replace a node of another name, in the form that the removal of the replaced node reads.
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
func (o *ownResources) renameNodes(ctx context.Context) error {
	if len(o.engine.program.FormerNames) == 0 {
		return nil
	}
	exported, err := o.engine.state.Fresh(ctx)
	if err != nil {
		return err
	}
	stacks.Rename(&exported.Deployment, o.engine.cluster(), o.engine.program.FormerNames)
	return o.engine.state.Import(ctx, exported)
}

// bornAs returns the name that a node has as long as its machine is not replaced.
func (o *ownResources) bornAs(name string) string { return cmp.Or(o.predecessors[name], name) }
