package state

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// Machine is a virtual machine of the state.
type Machine struct {
	// URN is the URN of the resource.
	URN resource.URN
	// VMID is the machine's VMID.
	VMID int
	// Inputs are the inputs in the state.
	Inputs map[string]any
}

// Machines returns the virtual machines, including templates, in the order of the state.
func Machines(deployment apitype.DeploymentV3) []Machine {
	var found []Machine
	for machine := range Current(deployment, token.VirtualMachine) {
		if vmid, isNumber := propertymap.Int(machine.Inputs, propertyVMID); isNumber {
			found = append(found, Machine{URN: machine.URN, VMID: vmid, Inputs: machine.Inputs})
		}
	}
	return found
}

// VMIDs returns the VMIDs of the virtual machines that the provider has returned, including templates, in the order of the state.
func VMIDs(deployment apitype.DeploymentV3) []int {
	var returned []int
	for machine := range Current(deployment, token.VirtualMachine) {
		if vmid, isNumber := propertymap.Int(machine.Outputs, propertyVMID); isNumber {
			returned = append(returned, vmid)
		}
	}
	return returned
}

// KnownVMIDs returns the VMIDs of the virtual machines and of those whose creation has begun, sorted.
func KnownVMIDs(deployment apitype.DeploymentV3) []int {
	var known []int
	for machine := range Current(deployment, token.VirtualMachine) {
		known = append(known, VMID(machine))
	}
	for i := range deployment.PendingOperations {
		if begun := &deployment.PendingOperations[i].Resource; begun.Type == token.VirtualMachine {
			known = append(known, VMID(begun))
		}
	}
	slices.Sort(known)
	return slices.Compact(known)
}

const propertyVMID = "vmId"

// VMID returns the VMID in the inputs of a virtual machine; 0 if there is none.
func VMID(machine *apitype.ResourceV3) int {
	vmid, _ := propertymap.Int(machine.Inputs, propertyVMID)
	return vmid
}

// MachineOf returns the virtual machine of a node or a template; nil if there is none.
func MachineOf(deployment apitype.DeploymentV3, component resource.URN) *apitype.ResourceV3 {
	return first(Current(deployment, token.VirtualMachine), func(r *apitype.ResourceV3) bool { return r.Parent == component })
}
