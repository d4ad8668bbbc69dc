package rotation_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// TestAKeyOfSecretboxTakesThePlaceOfOneOfAESCBC wherever a state has it, with the marks of secrets as they were.
func TestAKeyOfSecretboxTakesThePlaceOfOneOfAESCBC(t *testing.T) {
	t.Parallel()
	const former, latter = "z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=", "bzBZLY7QWXgkaIlz5qs6NmSPYqPYHZmBBiUc8f6eTFM="
	const before, after = "aescbcEncryptionSecret", "secretboxEncryptionSecret"
	of := func(name, rawName, key string, withRaw bool) apitype.DeploymentV3 {
		secrets := map[string]any{"machineSecrets": map[string]any{"secrets": map[string]any{name: secret(t, key), "bootstrapToken": "kept"}}}
		if withRaw {
			secrets["__pulumi_raw_state_delta"] = map[string]any{"obj": map[string]any{"ps": map[string]any{"machineSecrets": secret(t, map[string]any{
				"replace": map[string]any{"raw": map[string]any{"secrets": map[string]any{rawName: key}}},
			})}}}
		}
		return apitype.DeploymentV3{Resources: []apitype.ResourceV3{
			{URN: "urn:pulumi:k3s-dev::em-infra::" + token.Secrets + "::secrets", Type: token.Secrets, Outputs: secrets},
			{URN: "urn:pulumi:k3s-dev::em-infra::" + token.Configuration + "::one", Type: token.Configuration, Inputs: map[string]any{
				"machineConfigurationInput": secret(t, "cluster:\n  token: kept\n  "+name+": "+key+"\n  ca:\n"),
			}},
		}}
	}
	replacements := rotation.Replacements{{Old: former, New: latter}}
	for _, withRaw := range []bool{true, false} {
		state := of(before, "aescbc_encryption_secret", former, withRaw)
		for range 2 {
			require.NoError(t, replacements.SecretboxIn(&state))
			require.Equal(t, of(after, "secretbox_encryption_secret", latter, withRaw), state)
		}
	}
	require.Error(t, replacements.SecretboxIn(&apitype.DeploymentV3{}))
}
