package state_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
)

func TestMachines(t *testing.T) {
	t.Parallel()
	halfMade := machine("w-2", 103.0)
	halfMade.Outputs = nil
	d := deployment(machine("w-1", 102.0), halfMade, machine("nothing", nil), replaced(machine("w-9", 109.0)), of(token.TalosNode, "w-1", properties{"vmId": 102.0}, nil))
	d.PendingOperations = []apitype.OperationV2{
		{Type: apitype.OperationTypeCreating, Resource: machine("w-0", 101.0)}, {Type: apitype.OperationTypeCreating, Resource: machine("w-2", 103.0)},
		{Type: apitype.OperationTypeCreating, Resource: of(token.Command, "w-1-membership", properties{"vmId": 1.0}, nil)},
	}

	require.Equal(t, []state.Machine{
		{URN: urn(token.VirtualMachine, "w-1-vm"), VMID: 102, Inputs: properties{"vmId": 102.0, "name": "w-1"}},
		{URN: urn(token.VirtualMachine, "w-2-vm"), VMID: 103, Inputs: properties{"vmId": 103.0, "name": "w-2"}},
	}, state.Machines(d))
	require.Equal(t, []int{102}, state.VMIDs(d))
	require.Equal(t, []int{0, 101, 102, 103}, state.KnownVMIDs(d))
}

func TestMachineOf(t *testing.T) {
	t.Parallel()
	node := urn(token.TalosNode, "w-1")
	d := deployment(below(node, replaced(machine("old", 102.0))), machine("another", 103.0), below(node, machine("w-1", 102.0)))
	require.Same(t, &d.Resources[2], state.MachineOf(d, node))
	require.Nil(t, state.MachineOf(d, urn(token.TalosNode, "w-2")))
}
