package recovering

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// adoptUnknown adopts this stack's machines that run but are not in the state, and records machines that were never started, so that
// they are created anew. The inputs of an adopted machine come from a backup of the state, or from the program.
func (r *Recovery) adoptUnknown(ctx context.Context, exported *engine.Exported, evidence recovery.Evidence) error {
	deployment := &exported.Deployment
	owner, err := state.OwnerOf(r.Workspace.Stack, *deployment)
	if err != nil {
		return err
	}
	recorded, err := recovery.RecordUnstarted(ctx, deployment, owner, evidence.Host)
	if err != nil {
		return err
	}
	unknown, err := r.unknown(ctx, deployment, owner, evidence.Host)
	if err != nil || recorded+len(unknown) == 0 {
		return err
	}
	if len(unknown) > 0 {
		past, err := evidence.Past()
		if err != nil {
			return err
		}
		planned, err := r.planned(ctx)
		if err != nil {
			return err
		}
		if err := recovery.Adopt(deployment, unknown, past, planned, r.Now()); err != nil {
			return err
		}
	}
	for _, machine := range unknown {
		r.say(machine.Adoption())
	}
	return r.State.Import(ctx, exported)
}

// foreseeUnknown determines for a preview which machines up would adopt.
func (r *Recovery) foreseeUnknown(ctx context.Context, deployment *apitype.DeploymentV3, host recovery.Host) error {
	owner, err := state.OwnerOf(r.Workspace.Stack, *deployment)
	if err != nil {
		return err
	}
	unknown, err := r.unknown(ctx, deployment, owner, host)
	for _, machine := range unknown {
		r.unanswered = append(r.unanswered, machine.Remnant())
	}
	return err
}

// unknown returns this stack's machines and containers that run or are complete, and that are not in the state.
func (r *Recovery) unknown(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, host recovery.Host) ([]recovery.Unknown, error) {
	unknown, err := recovery.LookForUnknown(ctx, deployment, owner, r.machineNames(), host)
	if err != nil {
		return nil, err
	}
	systems, err := recovery.LookForUnknownSystems(ctx, deployment, owner, host)
	return append(unknown, systems...), err
}

// machineNames returns the names of the inventory's machines by VMID.
func (r *Recovery) machineNames() map[int]string {
	names := map[int]string{}
	for _, node := range r.nodes() {
		names[node.VMID] = node.Name
	}
	return names
}

// planned returns the resources that the program would create, from a preview.
func (r *Recovery) planned(ctx context.Context) ([]apitype.ResourceV3, error) {
	seen, err := r.Engine.Plan(ctx)
	if err != nil {
		return nil, fmt.Errorf("what the machines were made with is not known without a preview: %w", err)
	}
	var planned []apitype.ResourceV3
	for _, event := range seen {
		if event.ResourcePreEvent == nil || !creates(event.ResourcePreEvent.Metadata.Op) || event.ResourcePreEvent.Metadata.New == nil {
			continue
		}
		made := event.ResourcePreEvent.Metadata.New
		planned = append(planned, apitype.ResourceV3{
			URN: resource.URN(made.URN), Type: tokens.Type(made.Type), Custom: made.Custom, Parent: resource.URN(made.Parent), Inputs: made.Inputs, Protect: made.Protect,
		})
	}
	return planned, nil
}

// creates reports whether an operation creates a resource, also in the place of one that is deleted for it.
func creates(op apitype.OpType) bool {
	return op == apitype.OpCreate || op == apitype.OpCreateReplacement
}

// Adoptions returns a sentence for each machine that up adopts.
func (r *Recovery) Adoptions() []string {
	var adoptions []string
	for _, remnant := range r.unanswered {
		adoptions = append(adoptions, remnant.Adoption())
	}
	return adoptions
}

// asAdopted changes the creation of a machine that is adopted before the engine runs into no change, also in the place of one that was deleted
// for it.
func (r *Recovery) asAdopted(seen []apitype.EngineEvent) []apitype.EngineEvent {
	for i, event := range seen {
		if event.ResourcePreEvent == nil || event.ResourcePreEvent.Metadata.New == nil ||
			!creates(event.ResourcePreEvent.Metadata.Op) && event.ResourcePreEvent.Metadata.Op != apitype.OpReplace ||
			!slices.ContainsFunc(r.unanswered, func(left recovery.Remnant) bool { return isAsMade(left, event.ResourcePreEvent.Metadata.New.Inputs) }) {
			continue
		}
		pre := *event.ResourcePreEvent
		pre.Metadata.Op = apitype.OpSame
		seen[i].ResourcePreEvent = &pre
	}
	return seen
}

// isAsMade reports whether a machine is what the program would create. One on another host is moved, so its step stays.
func isAsMade(left recovery.Remnant, inputs map[string]any) bool {
	vmid, _ := inputs["vmId"].(float64)
	return int(vmid) == left.VMID && inputs["nodeName"] == left.Node
}
