package recovering_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

const urnWorkerVM = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"

// stepOn returns a step of a preview on the worker's machine.
func stepOn(op apitype.OpType) apitype.EngineEvent {
	inputs := map[string]any{"vmId": 102.0, "nodeName": "vmhost", "name": "k3s-dev-worker-1"}
	state := &apitype.StepEventStateMetadata{URN: urnWorkerVM, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Custom: true, Inputs: inputs}
	return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{
		Op: op, URN: urnWorkerVM, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", Old: state, New: state, Diffs: []string{"started"},
	}}}
}

// The deletion and the new creation of a machine that never ran are shown before the consent.
func TestWhatIsDeletedIsForeseenInThePlan(t *testing.T) {
	t.Parallel()
	for _, op := range []apitype.OpType{apitype.OpSame, apitype.OpUpdate, apitype.OpReplace} {
		r := &recovering.Recovery{}
		r.Found(recovery.Remnant{URN: urnWorkerVM, VMID: 102, Node: "vmhost", Name: "k3s-dev-worker-1"})
		assessment := risk.Assess(plan.Steps(r.WithRecoveries([]apitype.EngineEvent{stepOn(op)})), risk.Seen{})
		assessment.Notes = append(assessment.Notes, r.Deletions()...)
		var out strings.Builder
		require.NoError(t, assessment.WriteText(&out))
		text := out.String()
		require.True(t, strings.HasPrefix(text, " CREATE   k3s-dev-worker-1"), text)
		require.Contains(t, text, "VM 102 (k3s-dev-worker-1) on vmhost is deleted: its creation ended half way, and it never ran\n")
	}
}

func TestTheStepsOfOtherMachinesStay(t *testing.T) {
	t.Parallel()
	r := &recovering.Recovery{}
	require.Equal(t, []apitype.EngineEvent{stepOn(apitype.OpUpdate)}, r.WithRecoveries([]apitype.EngineEvent{stepOn(apitype.OpUpdate)}))
	require.Empty(t, r.Deletions())
	r.Found(recovery.Remnant{URN: urnWorkerVM})
	require.Equal(t, []apitype.EngineEvent{stepOn(apitype.OpDelete)}, r.WithRecoveries([]apitype.EngineEvent{stepOn(apitype.OpDelete)}), "it goes for good")
}

// TestWhatIsAdoptedIsNotCreated, unless it stands on another host.
func TestWhatIsAdoptedIsNotCreated(t *testing.T) {
	t.Parallel()
	for _, op := range []apitype.OpType{apitype.OpCreate, apitype.OpCreateReplacement, apitype.OpReplace} {
		r := &recovering.Recovery{}
		r.Adopts(recovery.Remnant{VMID: 102, Node: "vmhost", Name: "k3s-dev-worker-1"})
		require.Equal(t, apitype.OpSame, r.WithRecoveries([]apitype.EngineEvent{stepOn(op)})[0].ResourcePreEvent.Metadata.Op)
		r = &recovering.Recovery{}
		r.Adopts(recovery.Remnant{VMID: 102, Node: "second", Name: "k3s-dev-worker-1"})
		require.Equal(t, []apitype.EngineEvent{stepOn(op)}, r.WithRecoveries([]apitype.EngineEvent{stepOn(op)}), "it is moved")
	}
}
