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

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// makers are the components that create a machine and have its VMID in their inputs.
var makers = []tokens.Type{token.TalosNode, token.TalosTemplate, token.StandaloneMachine}

// Record adds to a deployment the machines that a failed creation has left incomplete. The engine does not record a machine for which the provider
// returned no ID, and a host that goes down during a clone leaves the machine behind, with its lock. Record adds them like machines whose creation
// failed, so that [LookAtFailed] finds them, in this run or, after a user has removed the lock, in the next one. It changes the deployment and
// returns their number.
//
// It records a machine only if it cannot be anything else: it has a VMID that the state planned for one of ours, it was never started, it has our
// name or none yet, and it is empty or has the lock of its own creation.
func Record(ctx context.Context, deployment *apitype.DeploymentV3, host Host) (int, error) {
	recorded := 0
	for _, maker := range slices.Clone(deployment.Resources) {
		if !slices.Contains(makers, maker.Type) || maker.Delete || hasMachine(deployment, maker.URN) {
			continue
		}
		vmid, isSaid := propertymap.Int(maker.Inputs, "vmid")
		if !isSaid {
			continue
		}
		machine, err := host.Look(ctx, vmid)
		if err != nil {
			return recorded, err
		}
		if machine == nil || !isHalfMade(machine) || !isNamedAfter(machine.Name, maker.URN) {
			continue
		}
		record(deployment, halfMade(deployment, maker.URN, vmid, machine))
		recorded++
	}
	return recorded, nil
}

// hasMachine reports whether the state has a machine of a component. One that was deleted before its successor is created, and stays in the state
// until then, does not count.
func hasMachine(deployment *apitype.DeploymentV3, maker resource.URN) bool {
	for machine := range state.Every(*deployment, token.VirtualMachine) {
		if machine.Parent == maker && !machine.PendingReplacement {
			return true
		}
	}
	return false
}

// withoutDeleted returns a deployment without what was deleted before its successor is created.
func withoutDeleted(deployment apitype.DeploymentV3) apitype.DeploymentV3 {
	deployment.Resources = slices.DeleteFunc(slices.Clone(deployment.Resources), func(r apitype.ResourceV3) bool { return r.PendingReplacement })
	return deployment
}

// record adds a machine to a deployment, in the place of one that was deleted for it: the engine takes only one entry with a name, and what
// depends on the machine comes after it.
func record(deployment *apitype.DeploymentV3, machine apitype.ResourceV3) {
	at := replacedBy(deployment, machine.URN)
	if at < 0 {
		deployment.Resources = append(deployment.Resources, machine)
		return
	}
	deployment.Resources[at] = machine
}

// replacedBy returns the place of the machine that was deleted for one with a URN, -1 if there is none.
func replacedBy(deployment *apitype.DeploymentV3, urn resource.URN) int {
	return slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.URN == urn && r.PendingReplacement })
}

// isHalfMade reports whether a machine is an incomplete creation.
func isHalfMade(m *pve.Machine) bool {
	return m.Ran == "" && (m.Empty || m.Lock == "clone" || m.Lock == "create")
}

// isNamedAfter reports whether a machine has the name that its component gives it: the component's own name, with or without the
// cluster's name before it, or no name yet.
func isNamedAfter(name string, maker resource.URN) bool {
	return name == "" || name == maker.Name() || strings.HasSuffix(maker.Name(), "-"+name)
}

// halfMade returns the entry in the state of a machine whose creation failed.
func halfMade(deployment *apitype.DeploymentV3, maker resource.URN, vmid int, machine *pve.Machine) apitype.ResourceV3 {
	known := map[string]any{"nodeName": machine.Node, "vmId": float64(vmid), "name": cmp.Or(machine.Name, maker.Name())}
	return apitype.ResourceV3{
		URN:        resource.NewURN(maker.Stack(), maker.Project(), maker.QualifiedType(), token.VirtualMachine, maker.Name()+state.SuffixMachine),
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

// proxmoxProvider returns the reference to the provider of machines.
func proxmoxProvider(deployment *apitype.DeploymentV3) string {
	for provider := range state.Current(*deployment, token.ProxmoxProvider) {
		return string(provider.URN) + resource.URNNameDelimiter + string(provider.ID)
	}
	return ""
}
