package recovery

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// LookForUnknownSystems returns the systems of a stack that are on the host as a run of it made them, and that are missing in its state: the run
// was killed, or the answer to its request was lost. A system counts only if the state has its component, so that a run began to create it, and if
// it has its name and the mark of the stack.
//
// A machine counts if it ran; [RecordUnstarted] finds the others. A container counts in any case: its creation is one request, which configures all
// of it and starts it (bpg/terraform-provider-proxmox v0.73.0, container.go, containerCreateCustom).
func LookForUnknownSystems(ctx context.Context, deployment *apitype.DeploymentV3, owner ownership.Owner, host Host) ([]Unknown, error) {
	var unknown []Unknown
	for _, maker := range deployment.Resources {
		vmid, isSystem := vmidOfSystem(maker)
		if !isSystem || hasGuest(deployment, maker.URN) || isKnown(deployment, vmid) {
			continue
		}
		found, kind, err := settleSystem(ctx, maker.Type, vmid, host)
		if err != nil {
			return nil, err
		}
		isWhole := found != nil && (kind == token.Container && found.Lock != "create" || kind == token.VirtualMachine && found.Lock == "" && found.Ran != "")
		if !isWhole || owner.Stack == "" || found.Stack != owner.Stack || !isNamedAfter(found.Name, maker.URN) {
			continue
		}
		unknown = append(unknown, Unknown{VMID: vmid, Node: found.Node, Name: found.Name, birth: found.Birth, kind: kind, maker: maker.URN})
	}
	return unknown, nil
}

// vmidOfSystem returns the VMID that a component of a stack of systems gives its machine or container.
func vmidOfSystem(maker apitype.ResourceV3) (vmid int, isSystem bool) {
	if maker.Type != token.StandaloneMachine && maker.Type != token.StandaloneContainer || maker.Delete {
		return 0, false
	}
	return propertymap.Int(maker.Inputs, "vmid")
}

// settleSystem returns what a component has made on the host, with the type of its resource; nil for nothing.
func settleSystem(ctx context.Context, maker tokens.Type, vmid int, host Host) (found *pve.Machine, kind tokens.Type, err error) {
	if maker == token.StandaloneContainer {
		found, err = host.SettleContainer(ctx, vmid)
		return found, token.Container, err
	}
	found, err = host.Look(ctx, vmid)
	return found, token.VirtualMachine, err
}

// hasGuest reports whether the state has the machine or the container of a component, or its begun creation.
func hasGuest(deployment *apitype.DeploymentV3, maker resource.URN) bool {
	for _, operation := range deployment.PendingOperations {
		if operation.Resource.Parent == maker && operation.Resource.Type == token.VirtualMachine {
			return true
		}
	}
	for container := range state.Existing(*deployment, token.Container) {
		if container.Parent == maker {
			return true
		}
	}
	return hasMachine(deployment, maker)
}

// isKnown reports whether the state has a machine or a container with a VMID, of any component.
func isKnown(deployment *apitype.DeploymentV3, vmid int) bool {
	for _, kind := range []tokens.Type{token.VirtualMachine, token.Container} {
		for guest := range state.Existing(*deployment, kind) {
			if state.VMID(guest) == vmid {
				return true
			}
		}
	}
	return false
}
