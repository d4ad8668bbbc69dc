package artifacts_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

func TestPlannedConfigurationsReplaceGivenOnes(t *testing.T) {
	t.Parallel()
	given := map[string]string{"cp-1": "first"}
	var planned artifacts.Planned
	require.Equal(t, given, planned.Over(given))
	planned.Take("cp-1", "next")
	planned.Take("cp-2", "second")
	require.Equal(t, map[string]string{"cp-1": "next", "cp-2": "second"}, planned.Over(given))
}

func TestMachineConfigurationsAreRedacted(t *testing.T) {
	t.Parallel()
	bundle, err := secrets.NewBundle(secrets.NewClock(), nil)
	require.NoError(t, err)
	input, err := generate.NewInput("lab", "https://192.168.20.10:6443", "1.35.4", generate.WithSecretsBundle(bundle))
	require.NoError(t, err)
	config, err := input.Config(machine.TypeControlPlane)
	require.NoError(t, err)
	text, err := config.Bytes()
	require.NoError(t, err)

	run := begin(t)
	require.NoError(t, run.MachineConfigurations(map[string]string{"cp-1": string(text)}))
	redacted := read(t, run, "machine-configurations/cp-1.yaml")
	require.Contains(t, redacted, "type: controlplane")
	for _, secret := range []string{bundle.TrustdInfo.Token, bundle.Secrets.BootstrapToken, bundle.Secrets.SecretboxEncryptionSecret, bundle.Cluster.Secret} {
		require.Contains(t, string(text), secret)
		require.NotContains(t, redacted, secret)
	}
	require.Contains(t, redacted, "token: '[secret]'")
}

func TestAConfigurationThatIsNoneIsNotQuoted(t *testing.T) {
	t.Parallel()
	err := begin(t).MachineConfigurations(map[string]string{"cp-1": "secret: {"})
	require.EqualError(t, err, "machine configuration of cp-1: it is none that Talos reads: run up again")
}
