package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
)

// Unknown is a machine of ours that runs, or ran, and of which the state does not know even that its creation was begun: the
// answer to its clone was lost, or an earlier state was put back.
type Unknown struct {
	// VMID, Node that it stands on, and its Name.
	VMID int
	Node string
	Name string

	birth string
}

// Adoption says what [Adopt] does with it.
func (u Unknown) Adoption() string {
	return Remnant{VMID: u.VMID, Node: u.Node, Name: u.Name}.Adoption()
}

// LookForUnknown looks for machines that belong to owner and that a deployment does not know, among those that the inventory
// wants: names by VMID. Those of which the host does not know that they ever ran are none of them: [RecordUnstarted] finds these.
func LookForUnknown(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, names map[int]string, host Host) ([]Unknown, error) {
	var unknown []Unknown
	known := KnownVMIDs(deployment)
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
		unknown = append(unknown, Unknown{VMID: vmid, Node: machine.Node, Name: machine.Name, birth: machine.Birth})
	}
	return unknown, nil
}

// RecordUnstarted puts machines into a deployment that belong to owner, are whole, and were never started: the answer to their
// clone was lost. They are recorded like those of [Record], so that they are made anew. It returns how many there are.
func RecordUnstarted(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, host Host) (int, error) {
	recorded := 0
	known := KnownVMIDs(deployment)
	for _, maker := range slices.Clone(deployment.Resources) {
		vmid, isSaid := maker.Inputs["vmid"].(float64)
		if !slices.Contains(makers, maker.Type) || maker.Delete || !isSaid || slices.Contains(known, int(vmid)) || hasMachine(deployment, maker.URN) {
			continue
		}
		machine, err := host.Look(ctx, int(vmid))
		if err != nil {
			return recorded, err
		}
		if machine == nil || machine.Owner != owner || owner.Cluster == "" || machine.Ran != "" || machine.Lock != "" || machine.Empty {
			continue
		}
		half := halfMade(deployment, maker.URN, int(vmid), machine)
		if maker.Type == token.TalosTemplate {
			half.Inputs["template"] = true
		}
		half.Inputs["smbios"] = withUUID(nil, machine.Birth)
		deployment.Resources = append(deployment.Resources, half)
		recorded++
	}
	return recorded, nil
}

// Adopt takes unknown machines into a deployment: as a copy of an earlier state has them, where one has the very machine, else as
// the program would make them, with the components that they belong to. It changes the deployment; [LookAtFailed] then finds them
// among those that were used. The error names a machine that neither knows.
func Adopt(deployment *apitype.DeploymentV3, unknown []Unknown, past []Past, planned []apitype.ResourceV3, now time.Time) error {
	for _, u := range unknown {
		machine, among := u.in(past)
		if machine == nil {
			machine, among = withVMID(planned, u.VMID), planned
		}
		if machine == nil {
			return fmt.Errorf("VM %d (%s) on %s is of this stack, but neither the state nor the program knows it: put the state that knows it back with `em-infra state restore`", u.VMID, u.Name, u.Node)
		}
		addParents(deployment, machine.Parent, among)
		whole := *machine
		whole.Dependencies, whole.PropertyDependencies, whole.ReplaceWith, whole.DeletedWith = nil, nil, nil, "" // the next run says them again
		whole.Provider = proxmoxProvider(deployment)
		remnant := Remnant{URN: machine.URN, VMID: u.VMID, Node: u.Node, Name: u.Name, birth: u.birth}
		remember(deployment, unanswered{remnant, whole}.adopted(now), now)
	}
	return nil
}

// addParents adds the components above a resource that a deployment does not have, the uppermost first, as it has to be.
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

// in is the machine in the newest earlier state that has it, by its mark of birth, with all that this state has; nil where none
// has it.
func (u Unknown) in(past []Past) (machine *apitype.ResourceV3, among []apitype.ResourceV3) {
	for _, one := range past {
		for i, r := range one.Deployment.Resources {
			if r.Type == token.VirtualMachine && !r.Delete && u.birth != "" && birthOf(r) == u.birth && vmidOf(r) == u.VMID {
				return &one.Deployment.Resources[i], one.Deployment.Resources
			}
		}
	}
	return nil, nil
}

func withVMID(machines []apitype.ResourceV3, vmid int) *apitype.ResourceV3 {
	at := slices.IndexFunc(machines, func(r apitype.ResourceV3) bool { return r.Type == token.VirtualMachine && vmidOf(r) == vmid })
	if at < 0 {
		return nil
	}
	return &machines[at]
}
