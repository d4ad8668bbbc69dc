package drift_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// TestNoteIsTheReadThatTheProviderLacks checks that the state then contains the running configuration, as a secret and without the
// patches that would hide it, and is otherwise unchanged.
func TestNoteIsTheReadThatTheProviderLacks(t *testing.T) {
	t.Parallel()
	given, running := configuration(t, ours), configuration(t, ours, "machine: {sysctls: {vm.max_map_count: 65530}}")
	sealed, err := propertymap.Seal(string(given))
	require.NoError(t, err)
	properties := func() map[string]any {
		return map[string]any{"node": "192.168.20.21", "machineConfigurationInput": sealed, "configPatches": []any{"machine: {}"}, "__pulumi_raw_state_delta": map[string]any{"obj": map[string]any{}}}
	}
	other := apitype.ResourceV3{
		URN: "urn:pulumi:k3s-dev::em-infra::talos:machine/configurationApply:ConfigurationApply::other", Type: "talos:machine/configurationApply:ConfigurationApply",
		Inputs: properties(), Outputs: properties(),
	}
	one := other
	one.URN = "urn:pulumi:k3s-dev::em-infra::talos:machine/configurationApply:ConfigurationApply::one"
	one.Inputs, one.Outputs = properties(), properties()
	deployment := apitype.DeploymentV3{Resources: []apitype.ResourceV3{other, one}}

	require.NoError(t, drift.Note(&deployment, one.URN, running))
	applied, err := state.AppliedConfigurations(deployment)
	require.NoError(t, err)
	require.Equal(t, state.AppliedConfiguration{URN: one.URN, Text: running}, applied["192.168.20.21"])
	now := deployment.Resources[1]
	require.NotContains(t, now.Outputs, "__pulumi_raw_state_delta", "it would not fit any more")
	for _, found := range []map[string]any{now.Inputs, now.Outputs} {
		require.NotContains(t, found, "configPatches")
		require.NotEqual(t, found["machineConfigurationInput"], string(running), "it stays a secret")
		plain, err := propertymap.Unseal(found["machineConfigurationInput"])
		require.NoError(t, err)
		require.Equal(t, string(running), plain)
	}
	require.Equal(t, properties(), deployment.Resources[0].Inputs, "no other node's")
	require.NoError(t, drift.Note(&deployment, "urn:pulumi:k3s-dev::em-infra::a:b/c:D::gone", running))
}
