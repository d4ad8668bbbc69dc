package plan_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

// TestAReplacementByATriggerTellsWhatDiffers: the engine does not ask the provider then, so its event names no property.
func TestAReplacementByATriggerTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	const urn = "urn:pulumi:k3s-dev::em-infra::proxmoxve:VM/virtualMachine:VirtualMachine::w-1-vm"
	steps := plan.Steps([]apitype.EngineEvent{{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{
		Op: apitype.OpReplace, URN: urn,
		Old: &apitype.StepEventStateMetadata{Inputs: map[string]any{"name": "w-1", "vmId": 102.0, "tags": []any{"talos"}}},
		New: &apitype.StepEventStateMetadata{Inputs: map[string]any{"name": "w-9", "vmId": 112.0, "tags": []any{"talos"}}},
	}}}})
	require.Len(t, steps, 1)
	require.Equal(t, []string{"name", "vmId"}, steps[0].Changed)
}

// A run of one node leaves the others as they are: those that exist are still in the steps, and those that would be made are not.
func TestTheStepsOfTargets(t *testing.T) {
	t.Parallel()
	old, wanted := map[string]any{"vmId": 102.0}, map[string]any{"vmId": 112.0}
	all := []plan.Step{
		{Op: apitype.OpReplace, URN: "urn:a", Old: old, New: wanted, Changed: []string{"vmId"}},
		{Op: apitype.OpReplace, URN: "urn:b", Parent: "urn:p", Old: old, New: wanted, Changed: []string{"vmId"}, ByHand: []string{"machine"}},
		{Op: apitype.OpDelete, URN: "urn:c", Old: old},
		{Op: apitype.OpCreate, URN: "urn:d", New: wanted},
	}
	require.Equal(t, all, plan.Within(nil, all))
	require.Equal(t, []plan.Step{
		all[0],
		{Op: apitype.OpSame, URN: "urn:b", Parent: "urn:p", Old: old, New: old},
		{Op: apitype.OpSame, URN: "urn:c", Old: old, New: old},
	}, plan.Within([]string{"urn:a"}, all))
}
