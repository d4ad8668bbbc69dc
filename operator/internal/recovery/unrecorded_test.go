package recovery_test

import (
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// failedClone returns the state after a failed clone: it contains the node but not its machine.
func failedClone() *apitype.DeploymentV3 {
	return &apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: urnProvider, Type: "pulumi:providers:proxmoxve", ID: "1234", Custom: true},
		{URN: urnNode, Type: "em-infra:index:TalosNode", Inputs: map[string]any{"host": "vmhost", "vmid": 102.0, "role": "worker"}},
	}}
}

func TestRecordWhatAFailedCreationLeft(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		machine  *pve.Machine
		recorded string // the name in the record; empty if there is none
	}{
		{"nothing there", nil, ""},
		{"a clone before its first disk", &pve.Machine{Node: "vmhost", Empty: true, Lock: "clone"}, "k3s-dev-worker-1"},
		{"a clone after its first disk", &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Lock: "clone"}, "k3s-dev-worker-1"},
		{"a name without the cluster's", &pve.Machine{Node: "vmhost", Name: "worker-1", Lock: "clone"}, "worker-1"},
		{"an empty one whose lock was taken away", &pve.Machine{Node: "vmhost", Empty: true}, "k3s-dev-worker-1"},
		{"somebody else's clone", &pve.Machine{Node: "vmhost", Name: "nas", Lock: "clone"}, ""},
		{"a whole one of our name, of which the state knows nothing", &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1"}, ""},
		{"one that is backed up", &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Lock: "backup"}, ""},
		{"one that was started", &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Lock: "clone", Ran: "it was started"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment := failedClone()
			h := &host{machine: test.machine}
			recorded, err := recovery.Record(t.Context(), deployment, h)
			require.NoError(t, err)
			require.Empty(t, h.deleted)
			if test.recorded == "" {
				require.Zero(t, recorded)
				require.Equal(t, failedClone(), deployment)
				return
			}
			require.Equal(t, 1, recorded)
			inputs := map[string]any{"nodeName": "vmhost", "vmId": 102.0, "name": test.recorded}
			require.Equal(t, apitype.ResourceV3{
				URN: urnMachine, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", ID: "102", Custom: true,
				Inputs: inputs, Outputs: inputs, Parent: urnNode, Provider: urnProvider + "::1234",
				InitErrors: []string{"its creation failed, and the host did not clean up after it"},
			}, deployment.Resources[2])

			survey, err := recovery.LookAtFailed(t.Context(), deployment, with(h))
			require.NoError(t, err)
			require.Len(t, survey.NeverRan, 1)
			_, err = recovery.Delete(t.Context(), deployment, survey.NeverRan[0], h)
			require.NoError(t, err)
			require.Equal(t, []operation{{102, "vmhost"}}, h.deleted)
			require.Equal(t, failedClone(), deployment)
		})
	}
}

// A machine that is still locked is recorded, so that the next run finds it after the lock was removed.
func TestARecordOutlastsALock(t *testing.T) {
	t.Parallel()
	deployment := failedClone()
	h := &host{machine: &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1", Lock: "clone"}}
	_, err := recovery.Record(t.Context(), deployment, h)
	require.NoError(t, err)
	h.err = errors.New("VM 102 on vmhost is locked")
	_, err = recovery.LookAtFailed(t.Context(), deployment, with(h))
	require.EqualError(t, err, "VM 102 on vmhost is locked")

	h.machine, h.err = &pve.Machine{Node: "vmhost", Name: "k3s-dev-worker-1"}, nil
	recorded, err := recovery.Record(t.Context(), deployment, h)
	require.NoError(t, err)
	require.Zero(t, recorded, "it is recorded once")
	survey, err := recovery.LookAtFailed(t.Context(), deployment, with(h))
	require.NoError(t, err)
	require.Len(t, survey.NeverRan, 1)
}

func TestRecordLooksOnlyWhereAMachineIsMissing(t *testing.T) {
	t.Parallel()
	whole := failedClone()
	whole.Resources = append(whole.Resources, apitype.ResourceV3{URN: urnMachine, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Parent: urnNode})
	elsewhere := failedClone()
	elsewhere.Resources[1].Type = "em-infra:index:TalosCluster"
	silent := failedClone()
	silent.Resources[1].Inputs = nil
	for _, deployment := range []*apitype.DeploymentV3{{}, whole, elsewhere, silent} {
		h := &host{machine: &pve.Machine{Node: "vmhost", Empty: true}}
		recorded, err := recovery.Record(t.Context(), deployment, h)
		require.NoError(t, err)
		require.Zero(t, recorded)
		require.Empty(t, h.looked)
	}
}

func TestRecordWhereItCannotLook(t *testing.T) {
	t.Parallel()
	deployment := failedClone()
	_, err := recovery.Record(t.Context(), deployment, &host{err: errors.New("VM 102 on vmhost: no route to host")})
	require.EqualError(t, err, "VM 102 on vmhost: no route to host")
	require.Equal(t, failedClone(), deployment)
}
