package recovery

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

const (
	// vmSuffix is what the program appends to a component's name for that of its machine.
	vmSuffix = "-vm"
)

// makers are the components that make a machine, and say in their inputs which.
var makers = []tokens.Type{token.TalosNode, token.TalosTemplate}

// Record puts machines into a deployment that a creation which failed has left half made: the engine forgets one that
// returned no ID, and a host that goes down in the middle of a clone leaves it as it is, with its lock. They are recorded
// as the engine records a creation that failed half way, so that [LookAtFailed] finds them, in this run or, once somebody has
// taken the lock away, in the next. It changes the deployment, and returns how many there are.
//
// Only what cannot be anything else counts: the machine is where the state says that one of ours was to be made, it was
// never started, it has our name or none yet, and the lock of its own creation or nothing in it.
func Record(ctx context.Context, deployment *apitype.DeploymentV3, host Host) (int, error) {
	recorded := 0
	for _, maker := range slices.Clone(deployment.Resources) {
		if !slices.Contains(makers, maker.Type) || maker.Delete || hasMachine(deployment, maker.URN) {
			continue
		}
		vmid, isSaid := maker.Inputs["vmid"].(float64)
		if !isSaid {
			continue
		}
		machine, err := host.Look(ctx, int(vmid))
		if err != nil {
			return recorded, err
		}
		if machine == nil || !isHalfMade(machine) || !isNamedAfter(machine.Name, maker.URN) {
			continue
		}
		deployment.Resources = append(deployment.Resources, halfMade(deployment, maker.URN, int(vmid), machine))
		recorded++
	}
	return recorded, nil
}

func hasMachine(deployment *apitype.DeploymentV3, maker resource.URN) bool {
	return slices.ContainsFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == token.VirtualMachine && r.Parent == maker })
}

// isHalfMade reports whether a machine is what the beginning of its creation has left.
func isHalfMade(m *pve.Machine) bool {
	return m.Ran == "" && (m.Empty || m.Lock == "clone" || m.Lock == "create")
}

// isNamedAfter reports whether a machine has the name that its component gives it, which is its own, or its own behind the
// cluster's; or none yet.
func isNamedAfter(name string, maker resource.URN) bool {
	return name == "" || name == maker.Name() || strings.HasSuffix(maker.Name(), "-"+name)
}

// halfMade is a machine in the state whose creation failed half way.
func halfMade(deployment *apitype.DeploymentV3, maker resource.URN, vmid int, machine *pve.Machine) apitype.ResourceV3 {
	known := map[string]any{"nodeName": machine.Node, "vmId": float64(vmid), "name": cmp.Or(machine.Name, maker.Name())}
	return apitype.ResourceV3{
		URN:        resource.NewURN(maker.Stack(), maker.Project(), maker.QualifiedType(), token.VirtualMachine, maker.Name()+vmSuffix),
		Custom:     true,
		ID:         resource.ID(strconv.Itoa(vmid)),
		Type:       token.VirtualMachine,
		Inputs:     known,
		Outputs:    known,
		Parent:     maker,
		Provider:   proxmoxProvider(deployment),
		InitErrors: []string{"its creation failed, and the host did not clean up after it"},
	}
}

// proxmoxProvider is the reference to the provider of machines.
func proxmoxProvider(deployment *apitype.DeploymentV3) string {
	for _, r := range deployment.Resources {
		if r.Type == token.ProxmoxProvider && !r.Delete {
			return string(r.URN) + resource.URNNameDelimiter + string(r.ID)
		}
	}
	return ""
}
