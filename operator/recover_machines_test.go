package operator

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recovery"
)

const urnWorkerVM = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"

// stepOn is a step of a preview on the machine of the worker.
func stepOn(op apitype.OpType) apitype.EngineEvent {
	inputs := map[string]any{"vmId": 102.0, "nodeName": "vmhost", "name": "k3s-dev-worker-1"}
	state := &apitype.StepEventStateMetadata{URN: urnWorkerVM, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Custom: true, Inputs: inputs}
	return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{
		Op: op, URN: urnWorkerVM, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Old: state, New: state, Diffs: []string{"started"},
	}}}
}

// A machine that never ran is told of before anybody is asked: that it is deleted, and that it is made.
func TestWhatIsDeletedIsToldBefore(t *testing.T) {
	t.Parallel()
	for _, op := range []apitype.OpType{apitype.OpSame, apitype.OpUpdate, apitype.OpReplace} {
		s, _ := sessionWith(t, nil, false)
		s.neverRan = []recovery.Remnant{{URN: urnWorkerVM, VMID: 102, Node: "vmhost", Name: "k3s-dev-worker-1"}}
		var out strings.Builder
		require.NoError(t, s.assess(s.asMadeAnew([]apitype.EngineEvent{stepOn(op)})).WriteText(&out))
		text := out.String()
		require.True(t, strings.HasPrefix(text, " CREATE   k3s-dev-worker-1"), text)
		require.Contains(t, text, "VM 102 (k3s-dev-worker-1) on vmhost is deleted: its creation ended half way, and it never ran\n")
	}
}

func TestOtherMachinesAreToldOfAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, false)
	require.Equal(t, []apitype.EngineEvent{stepOn(apitype.OpUpdate)}, s.asMadeAnew([]apitype.EngineEvent{stepOn(apitype.OpUpdate)}))
	require.Empty(t, s.deletions())
	s.neverRan = []recovery.Remnant{{URN: urnWorkerVM}}
	require.Equal(t, []apitype.EngineEvent{stepOn(apitype.OpDelete)}, s.asMadeAnew([]apitype.EngineEvent{stepOn(apitype.OpDelete)}), "it goes for good")
}

func TestAskAfterAMachineWasStarted(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, &personWho{answers: "no"}, false)
	s.restarted = true
	require.EqualError(t, s.ask(t.Context()), "not confirmed; nothing was touched but the machines that were started")
}
