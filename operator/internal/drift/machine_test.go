package drift_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// worker returns a machine in the state whose inputs a test may change.
func worker() apitype.DeploymentV3 {
	properties := func() map[string]any {
		return map[string]any{"vmId": 102.0, "onBoot": true, "bootOrders": []any{"scsi0", "ide0"}, "poolId": "k3s-dev", "name": "w-1", "__pulumi_raw_state_delta": "of before"}
	}
	return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosNode::w-1", Type: "em-infra:index:TalosNode", Inputs: map[string]any{"vmId": 102.0}},
		{
			URN: "urn:pulumi:k3s-dev::em-infra::proxmoxve:VM/virtualMachine:VirtualMachine::w-1-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine",
			Inputs: properties(), Outputs: properties(),
		},
	}}
}

func TestOverlooked(t *testing.T) {
	t.Parallel()
	pooled := pve.Guest{VMID: 102, Pool: "k3s-dev"}
	for _, test := range []struct {
		name   string
		guest  pve.Guest
		config pve.GuestConfig
		noted  map[string]any // in addition to the worker's
		have   map[string]any
	}{
		{name: "nothing", guest: pooled, config: pve.GuestConfig{"onboot": "1", "boot": "order=scsi0;ide0", "name": "the provider's own concern"}},
		{name: "does not start with its host", guest: pooled, config: pve.GuestConfig{"boot": "order=scsi0;ide0"}, have: map[string]any{"onBoot": false}},
		{name: "another boot order", guest: pooled, config: pve.GuestConfig{"onboot": "1", "boot": "order=ide0"}, have: map[string]any{"bootOrders": []any{"ide0"}}},
		{name: "no boot order", guest: pooled, config: pve.GuestConfig{"onboot": "1"}, have: map[string]any{"bootOrders": []any{}}},
		{
			name: "another pool", guest: pve.Guest{VMID: 102, Pool: "others"}, config: pve.GuestConfig{"onboot": "1", "boot": "order=scsi0;ide0"},
			have: map[string]any{"poolId": "others"},
		},
		{
			name: "a disk that was plugged in again", guest: pooled, config: pve.GuestConfig{"onboot": "1", "boot": "order=scsi0;ide0", "scsi0": "tank:vm-102-disk-1", "scsi1": "tank:vm-102-disk-2"},
			noted: map[string]any{"disks": []any{map[string]any{"interface": "scsi0", "size": 32.0}, map[string]any{"interface": nil, "aio": ""}}},
			have:  map[string]any{"disks": []any{map[string]any{"interface": "scsi0", "size": 32.0}, map[string]any{"interface": "scsi1", "aio": ""}}},
		},
		{
			name: "a disk that is still unplugged", guest: pooled, config: pve.GuestConfig{"onboot": "1", "boot": "order=scsi0;ide0", "scsi0": "tank:vm-102-disk-1", "unused0": "tank:vm-102-disk-2"},
			noted: map[string]any{"disks": []any{map[string]any{"interface": "scsi0"}, map[string]any{"interface": nil}}},
		},
		{name: "no pool", guest: pve.Guest{VMID: 102}, config: pve.GuestConfig{"onboot": "1", "boot": "order=scsi0;ide0"}, have: map[string]any{"poolId": nil}},
		{
			name: "nothing, of a machine that stays off and has no pool", guest: pve.Guest{VMID: 102}, config: pve.GuestConfig{"boot": "order=scsi0;ide0"},
			noted: map[string]any{"onBoot": nil, "poolId": nil},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment := worker()
			for name, value := range test.noted {
				deployment.Resources[1].Inputs[name], deployment.Resources[1].Outputs[name] = value, value
			}
			machines := state.Machines(deployment)
			require.Len(t, machines, 1)
			have := drift.Overlooked(machines[0], test.guest, test.config)
			if test.have == nil {
				test.have = map[string]any{}
			}
			require.Equal(t, test.have, have)

			drift.NoteMachine(&deployment, machines[0].URN, have)
			require.Empty(t, drift.Overlooked(state.Machines(deployment)[0], test.guest, test.config), "the state says now what the host has")
			if len(have) > 0 {
				require.NotContains(t, deployment.Resources[1].Outputs, "__pulumi_raw_state_delta", "it would not fit any more")
			}
			require.Equal(t, deployment.Resources[1].Inputs["poolId"], deployment.Resources[1].Outputs["poolId"])
			require.Equal(t, "w-1", deployment.Resources[1].Inputs["name"])
		})
	}
}

func TestUndone(t *testing.T) {
	t.Parallel()
	deployment := worker()
	command := func() map[string]any { return map[string]any{"create": "go run tool pool ensure k3s-dev"} }
	deployment.Resources = append(deployment.Resources, apitype.ResourceV3{
		URN: "urn:pulumi:k3s-dev::em-infra::command:local:Command::pool", Type: "command:local:Command", Inputs: command(), Outputs: command(),
	})
	maker, found := state.PoolMaker(deployment, "k3s-dev")
	require.True(t, found)
	drift.NoteMachine(&deployment, maker, drift.Undone())
	_, found = state.PoolMaker(deployment, "k3s-dev")
	require.False(t, found, "the state says now that it was not made")
}
