package machineconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

func TestTheKeyOfSecretbox(t *testing.T) {
	t.Parallel()
	for contract, lacks := range map[string]bool{"v1.0": true, "v1.2": true, "v1.3": false, "v1.12": false, "unknown": false} {
		require.Equal(t, lacks, machineconfig.LacksSecretbox(contract), contract)
	}
	patch, err := machineconfig.Secretbox("z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=")
	require.NoError(t, err)
	require.Equal(t, "cluster:\n  secretboxEncryptionSecret: z01mye6j16bspJYtTB/5SFX8j7Ph4JXxM2Xuu4vsBPM=\n", patch)
	patch, err = machineconfig.Secretbox("")
	require.NoError(t, err)
	require.Equal(t, "cluster: {}\n", patch)
}
