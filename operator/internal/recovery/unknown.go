package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Unknown is a machine of ours that runs or ran, and of which the state does not even contain a begun creation: the answer to its
// clone request was lost, or an earlier state was restored.
type Unknown struct {
	// VMID, the Node with the machine, and its Name.
	VMID int
	Node string
	Name string

	birth string
	kind  tokens.Type  // of the resource
	maker resource.URN // of a system
}

// Adoption returns a sentence about what [Adopt] does with the machine.
func (u Unknown) Adoption() string {
	return u.Remnant().Adoption()
}

// Remnant returns the machine as one that is adopted.
func (u Unknown) Remnant() Remnant {
	return Remnant{VMID: u.VMID, Node: u.Node, Name: u.Name, IsContainer: u.kind == token.Container, birth: u.birth}
}

// LookForUnknown returns the owner's machines that are missing in a deployment, among the inventory's machines: names by VMID. It
// omits machines without a witness that they ran; [RecordUnstarted] finds these.
func LookForUnknown(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, names map[int]string, host Host) ([]Unknown, error) {
	var unknown []Unknown
	known := state.KnownVMIDs(*deployment)
	for _, vmid := range slices.Sorted(maps.Keys(names)) {
		if slices.Contains(known, vmid) {
			continue
		}
		machine, err := host.Look(ctx, vmid)
		if err != nil {
			return nil, err
		}
		if machine == nil || machine.Owner != owner || owner.Cluster == "" || machine.Name != names[vmid] || machine.Ran == "" || machine.Lock != "" {
			continue
		}
		unknown = append(unknown, Unknown{VMID: vmid, Node: machine.Node, Name: machine.Name, birth: machine.Birth, kind: token.VirtualMachine})
	}
	return unknown, nil
}

// RecordUnstarted adds to a deployment the owner's complete machines that were never started, because the answer to their clone
// request was lost. Like the machines of [Record], they are then created anew. It returns their number.
func RecordUnstarted(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, host Host) (int, error) {
	recorded := 0
	known := state.KnownVMIDs(withoutDeleted(*deployment))
	for _, maker := range slices.Clone(deployment.Resources) {
		vmid, isSaid := propertymap.Int(maker.Inputs, "vmid")
		if !slices.Contains(makers, maker.Type) || maker.Delete || !isSaid || slices.Contains(known, vmid) || hasMachine(deployment, maker.URN) {
			continue
		}
		machine, err := host.Look(ctx, vmid)
		if err != nil {
			return recorded, err
		}
		if machine == nil || !isOf(owner, maker, machine) || machine.Ran != "" || machine.Lock != "" || machine.Empty {
			continue
		}
		half := halfMade(deployment, maker.URN, vmid, machine)
		if maker.Type == token.TalosTemplate {
			half.Inputs["template"] = true
		}
		if maker.Type != token.StandaloneMachine { // the inputs of a system have no mark of birth
			half.Inputs["smbios"] = withUUID(nil, machine.Birth)
		}
		record(deployment, half)
		recorded++
	}
	return recorded, nil
}

// isOf reports whether a machine on the host belongs to an owner, and is what this component was to make: by the cluster in its
// description, or, if it is a system, by the mark of its stack and by its name.
func isOf(owner ownership.Owner, maker apitype.ResourceV3, machine *pve.Machine) bool {
	if maker.Type == token.StandaloneMachine {
		return machine.Stack == owner.Stack && machine.Stack != "" && isNamedAfter(machine.Name, maker.URN)
	}
	return machine.Owner == owner && owner.Cluster != ""
}

// Adopt adds unknown machines to a deployment, with their components. Their inputs come from a backup that contains the same
// machine, else from the program. It changes the deployment; [LookAtFailed] then finds the machines as used ones. It returns an
// error for a machine that neither contains.
func Adopt(deployment *apitype.DeploymentV3, unknown []Unknown, past []Past, planned []apitype.ResourceV3, now time.Time) error {
	for _, u := range unknown {
		machine, among := u.in(past)
		if machine == nil {
			machine, among = u.planned(planned), planned
		}
		if machine == nil && u.maker != "" {
			machine, among = u.least(), deployment.Resources
		}
		if machine == nil {
			return fmt.Errorf("%s is of this stack, but neither the state nor the program knows it: put the state that knows it back with `em-infra state restore`", u.Remnant())
		}
		addParents(deployment, machine.Parent, among)
		whole := *machine
		whole.Dependencies, whole.PropertyDependencies, whole.ReplaceWith, whole.DeletedWith = nil, nil, nil, "" // the next run sets them again
		whole.Provider = proxmoxProvider(deployment)
		remnant := u.Remnant()
		remnant.URN = machine.URN
		remember(deployment, unanswered{remnant, whole}.adopted(now), now)
	}
	return nil
}

// addParents adds the missing components above a resource to a deployment, in the required order, outermost first.
func addParents(deployment *apitype.DeploymentV3, parent resource.URN, among []apitype.ResourceV3) {
	is := func(r apitype.ResourceV3) bool { return r.URN == parent && !r.Delete }
	at := slices.IndexFunc(among, is)
	if at < 0 || slices.ContainsFunc(deployment.Resources, is) {
		return
	}
	component := among[at]
	addParents(deployment, component.Parent, among)
	component.Dependencies, component.PropertyDependencies = nil, nil
	deployment.Resources = append(slices.Clone(deployment.Resources), component)
}

// in returns the machine from the newest earlier state that contains it, by its birth identifier, and all resources of that state;
// nil if no state contains it.
func (u Unknown) in(past []Past) (machine *apitype.ResourceV3, among []apitype.ResourceV3) {
	for _, one := range past {
		for machine := range state.Current(one.Deployment, token.VirtualMachine) {
			if u.birth != "" && birthOf(*machine) == u.birth && state.VMID(machine) == u.VMID {
				return machine, one.Deployment.Resources
			}
		}
	}
	return nil, nil
}

// least returns the entry in the state of a system that the program does not create any more: the engine deletes it, or moves it to another
// VMID, with the permission that this needs. The limits are the provider's defaults, in seconds, without which its deletion has no time (bpg
// v0.73.0, vm.go and container.go, dvTimeout…).
func (u Unknown) least() *apitype.ResourceV3 {
	suffix, inputs := state.SuffixMachine, map[string]any{"name": u.Name, "timeoutShutdownVm": 1800.0, "timeoutStopVm": 300.0}
	if u.kind == token.Container {
		suffix, inputs = state.SuffixContainer, map[string]any{"initialization": map[string]any{"hostname": u.Name}, "timeoutDelete": 60.0}
	}
	inputs["nodeName"], inputs["vmId"] = u.Node, float64(u.VMID)
	return &apitype.ResourceV3{
		URN: resource.NewURN(u.maker.Stack(), u.maker.Project(), u.maker.QualifiedType(), u.kind, u.maker.Name()+suffix), Type: u.kind,
		Custom: true, Parent: u.maker, Inputs: inputs,
	}
}

// planned returns the machine among the resources that the program would create; nil if it is none of them.
func (u Unknown) planned(all []apitype.ResourceV3) *apitype.ResourceV3 {
	for machine := range state.Every(apitype.DeploymentV3{Resources: all}, u.kind) {
		if state.VMID(machine) == u.VMID {
			return machine
		}
	}
	return nil
}
