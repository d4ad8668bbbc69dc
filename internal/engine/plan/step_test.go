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
