package recovery_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

const (
	urnSystem        = "urn:pulumi:site-systems::em-infra::em-infra:index:VirtualMachine::site-tools"
	urnContainer     = "urn:pulumi:site-systems::em-infra::em-infra:index:Container::site-pihole"
	urnCT            = "urn:pulumi:site-systems::em-infra::em-infra:index:Container$proxmoxve:CT/container:Container::site-pihole-ct"
	urnSystemMachine = "urn:pulumi:site-systems::em-infra::em-infra:index:VirtualMachine$proxmoxve:VM/virtualMachine:VirtualMachine::site-tools-vm"
)

// systemInputs are the inputs of VM 210, which is no node of a cluster.
func systemInputs() map[string]any {
	return map[string]any{"nodeName": "vmhost", "vmId": 210.0, "name": "tools", "description": ownership.SystemMark("site-systems")}
}

// systemBegun returns a state with the pending creation of the machine.
func systemBegun() *apitype.DeploymentV3 {
	deployment := systemPlanned()
	deployment.PendingOperations = []apitype.OperationV2{{Type: apitype.OperationTypeCreating, Resource: apitype.ResourceV3{
		URN: urnSystemMachine, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Custom: true, Parent: urnSystem, Inputs: systemInputs(),
	}}}
	return deployment
}

// systemPlanned returns a state after a creation that failed: it has the component, and not its machine.
func systemPlanned() *apitype.DeploymentV3 {
	return state(
		apitype.ResourceV3{URN: urnProvider, Type: "pulumi:providers:proxmoxve", ID: "1234", Custom: true},
		apitype.ResourceV3{URN: urnSystem, Type: "em-infra:index:VirtualMachine", Inputs: map[string]any{"host": "vmhost", "vmid": 210.0}},
	)
}

// TestASystemWhoseCreationWasCutOff: its VMID, its name and the description of its stack together prove that it is ours.
func TestASystemWhoseCreationWasCutOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		machine  pve.Machine
		neverRan string // what is deleted after the consent
		adopted  string
		note     string
		err      string
	}{
		{
			name: "off", machine: pve.Machine{Name: "tools", Stack: "site-systems"}, note: "the creation of VM 210 (tools) was cut off",
			neverRan: "VM 210 (tools) on vmhost is deleted: its creation ended half way, and it never ran",
		},
		{
			name: "running", machine: pve.Machine{Name: "tools", Stack: "site-systems", Running: true, Ran: "it runs", Birth: "6a5c"},
			note:    "VM 210 (tools) is there, although the state knows only that its creation was begun: it is taken into the state",
			adopted: "VM 210 (tools) on vmhost is taken into the state: a run of this stack made it, and got no answer",
		},
		{
			name: "of another stack", machine: pve.Machine{Name: "tools", Stack: "other-systems"},
			note: "the creation of VM 210 (tools) was cut off; VM 210 on vmhost is tools now, which is not ours and stays as it is",
		},
		{
			name: "without a mark", machine: pve.Machine{Name: "tools", Running: true, Ran: "it runs"},
			err: "VM 210 (tools) on vmhost does not say in its description that this stack has made it: delete that VM if it holds nothing; " +
				"if it does, put a state from before ours back with `em-infra state restore`, and give ours another vmid in systems.yaml",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment := systemBegun()
			survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(&host{machine: &test.machine}))
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			var deleted, adopted string
			for _, remnant := range survey.NeverRan {
				deleted = remnant.Promise()
			}
			for _, remnant := range survey.Unanswered {
				adopted = remnant.Adoption()
			}
			require.Equal(t, []string{test.neverRan, test.adopted}, []string{deleted, adopted})
			notes, _ := survey.Note(deployment, born)
			require.Equal(t, []string{test.note}, notes)
			if adopted != "" {
				require.Equal(t, systemInputs(), deployment.Resources[2].Inputs, "the program gives it no mark of birth")
			}
		})
	}
}

// TestASystemWhoseCloneWasNotAnswered is created anew, if it was never started and is certainly ours.
func TestASystemWhoseCloneWasNotAnswered(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "site-systems"}
	for _, test := range []struct {
		name     string
		machine  *pve.Machine
		recorded bool
	}{
		{"whole and ours", &pve.Machine{Node: "vmhost", Name: "tools", Stack: "site-systems", Birth: "6a5c"}, true},
		{"a clone that the host did not finish", &pve.Machine{Node: "vmhost", Name: "tools", Lock: "clone"}, true},
		{"empty", &pve.Machine{Node: "vmhost", Empty: true}, true},
		{"of another stack", &pve.Machine{Node: "vmhost", Name: "tools", Stack: "other-systems"}, false},
		{"of a stack that says nothing", &pve.Machine{Node: "vmhost", Name: "tools"}, false},
		{"ours with another name", &pve.Machine{Node: "vmhost", Name: "nas", Stack: "site-systems"}, false},
		{"one that ran", &pve.Machine{Node: "vmhost", Name: "tools", Stack: "site-systems", Ran: "it was started"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment, h := systemPlanned(), &host{machine: test.machine}
			unstarted, err := recovery.RecordUnstarted(t.Context(), deployment, owner, h)
			require.NoError(t, err)
			half, err := recovery.Record(t.Context(), deployment, h)
			require.NoError(t, err)
			if !test.recorded {
				require.Zero(t, unstarted+half)
				return
			}
			require.Equal(t, 1, unstarted+half)
			require.EqualValues(t, urnSystemMachine, deployment.Resources[2].URN)
			require.NotContains(t, deployment.Resources[2].Inputs, "smbios")
			survey, err := recovery.LookAtFailed(t.Context(), deployment, with(h))
			require.NoError(t, err)
			require.Len(t, survey.NeverRan, 1)
		})
	}
}

// containerPlanned returns a state in which a run has begun to create the container, with its begun creation.
func containerPlanned() *apitype.DeploymentV3 {
	deployment := state(
		apitype.ResourceV3{URN: urnProvider, Type: "pulumi:providers:proxmoxve", ID: "1234", Custom: true},
		apitype.ResourceV3{URN: urnContainer, Type: "em-infra:index:Container", Inputs: map[string]any{"host": "vmhost", "vmid": 211.0}},
	)
	deployment.PendingOperations = []apitype.OperationV2{{Type: apitype.OperationTypeCreating, Resource: container()}}
	return deployment
}

// container returns the container as the program would create it.
func container() apitype.ResourceV3 {
	return apitype.ResourceV3{
		URN: urnCT, Type: "proxmoxve:CT/container:Container", Custom: true, Parent: urnContainer,
		Inputs: map[string]any{"nodeName": "vmhost", "vmId": 211.0, "description": ownership.SystemMark("site-systems") + "\n"},
	}
}

// TestAContainerWhoseCreationWasNotConfirmed is adopted, if it is certainly ours: whole, with its name and the mark of its stack.
func TestAContainerWhoseCreationWasNotConfirmed(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "site-systems"}
	for _, test := range []struct {
		name      string
		container *pve.Machine
		err       error
		adopted   bool
	}{
		{"off", &pve.Machine{Node: "second", Name: "pihole", Stack: "site-systems"}, nil, true},
		{"running", &pve.Machine{Node: "second", Name: "pihole", Stack: "site-systems", Running: true}, nil, true},
		{"not made", nil, nil, false},
		{"of another stack", &pve.Machine{Node: "second", Name: "pihole", Stack: "other-systems"}, nil, false},
		{"without a mark", &pve.Machine{Node: "second", Name: "pihole"}, nil, false},
		{"ours with another name", &pve.Machine{Node: "second", Name: "dns", Stack: "site-systems"}, nil, false},
		{"in a backup", &pve.Machine{Node: "second", Name: "pihole", Stack: "site-systems", Lock: "backup"}, nil, true},
		{"being created", &pve.Machine{Node: "second", Name: "pihole", Stack: "site-systems", Lock: "create"}, nil, false},
		{"half made", nil, &pve.LockedError{Node: "vmhost", VMID: 211, Type: pve.TypeContainer, Lock: "create"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			deployment, h := containerPlanned(), &host{container: test.container, err: test.err}
			unknown, err := recovery.LookForUnknownSystems(t.Context(), deployment, owner, h)
			require.ErrorIs(t, err, test.err)
			if !test.adopted {
				require.Empty(t, unknown)
				return
			}
			require.Len(t, unknown, 1)
			require.Equal(t, "CT 211 (pihole) on second is taken into the state: a run of this stack made it, and got no answer", unknown[0].Adoption())
			unplanned := containerPlanned()
			require.NoError(t, recovery.Adopt(unplanned, unknown, nil, nil, born))
			require.EqualValues(t, urnCT, unplanned.Resources[2].URN, "the inventory does not have it any more: the engine deletes it")
			require.Equal(t, map[string]any{"nodeName": "second", "vmId": 211.0, "initialization": map[string]any{"hostname": "pihole"}, "timeoutDelete": 60.0}, unplanned.Resources[2].Inputs)
			require.NoError(t, recovery.Adopt(deployment, unknown, nil, []apitype.ResourceV3{container()}, born))
			adopted := deployment.Resources[2]
			require.EqualValues(t, urnCT, adopted.URN)
			require.EqualValues(t, "211", adopted.ID)
			require.Equal(t, "second", adopted.Inputs["nodeName"], "it may have been migrated")
			require.Equal(t, adopted.Inputs, adopted.Outputs)
			require.Empty(t, adopted.InitErrors)
			again, err := recovery.LookForUnknownSystems(t.Context(), deployment, owner, h)
			require.NoError(t, err)
			require.Empty(t, again)
		})
	}
}

// TestTheCreationOfAContainerIsNotPromisedAgain: whether it is done again follows from what is on the host.
func TestTheCreationOfAContainerIsNotPromisedAgain(t *testing.T) {
	t.Parallel()
	deployment := containerPlanned()
	survey, err := recovery.LookAtUnfinished(t.Context(), deployment, with(&host{}))
	require.NoError(t, err)
	notes, changed := survey.Note(deployment, born)
	require.True(t, changed)
	require.Equal(t, []string{"creating of site-pihole-ct was interrupted"}, notes)
}

// TestASystemThatRanAndIsInNoState is adopted: its clone was not answered, and it was started by hand.
func TestASystemThatRanAndIsInNoState(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "site-systems"}
	ran := pve.Machine{Node: "vmhost", Name: "tools", Stack: "site-systems", Ran: "it was started", Birth: "6a5c"}
	unknown, err := recovery.LookForUnknownSystems(t.Context(), systemPlanned(), owner, &host{machine: &ran})
	require.NoError(t, err)
	require.Len(t, unknown, 1)
	require.Equal(t, "VM 210 (tools) on vmhost is taken into the state: a run of this stack made it, and got no answer", unknown[0].Adoption())
	begun, err := recovery.LookForUnknownSystems(t.Context(), systemBegun(), owner, &host{machine: &ran})
	require.NoError(t, err)
	require.Empty(t, begun, "the begun creation is looked at by itself")
	never := ran
	never.Ran = ""
	unknown, err = recovery.LookForUnknownSystems(t.Context(), systemPlanned(), owner, &host{machine: &never})
	require.NoError(t, err)
	require.Empty(t, unknown, "it is made anew")
}

// TestAContainerAtAGlance: a preview does not wait for its creation, and does not announce a container whose creation still runs.
func TestAContainerAtAGlance(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "site-systems"}
	for lock, seen := range map[string]int{"": 1, "create": 0} {
		h := &host{container: &pve.Machine{Node: "vmhost", Name: "pihole", Stack: "site-systems", Lock: lock}}
		unknown, err := recovery.LookForUnknownSystems(t.Context(), containerPlanned(), owner, recovery.AtAGlance(h))
		require.NoError(t, err)
		require.Len(t, unknown, seen)
	}
}
