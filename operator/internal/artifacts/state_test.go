package artifacts_test

import (
	"crypto/rand"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

func TestSecretsOf(t *testing.T) {
	t.Parallel()
	one, two, three := rand.Text(), rand.Text(), rand.Text()
	deployment := apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{Inputs: map[string]any{"plain": "seen", "token": sealed(t, one)}},
		{Outputs: map[string]any{"nested": map[string]any{"list": []any{sealed(t, map[string]any{"key": two, "list": []any{three, 7}})}}}},
	}}
	found, err := artifacts.SecretsOf(&deployment)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{one, two, three}, found)
}

func TestSecretsOfAnEncryptedState(t *testing.T) {
	t.Parallel()
	encrypted := sealed(t, "")
	delete(encrypted, "plaintext")
	encrypted["ciphertext"] = "v1:abc"
	_, err := artifacts.SecretsOf(&apitype.DeploymentV3{Resources: []apitype.ResourceV3{{Inputs: map[string]any{"token": encrypted}}}})
	require.EqualError(t, err, "a secret in the state is not in clear: export it with its secrets")
}

const typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"

func TestApplied(t *testing.T) {
	t.Parallel()
	applied, err := artifacts.Applied(&apitype.DeploymentV3{Resources: []apitype.ResourceV3{
		{URN: urn(typeConfiguration, "cp-1-configuration"), Type: typeConfiguration, Inputs: map[string]any{"machineConfigurationInput": sealed(t, "first")}},
		{URN: urn(typeConfiguration, "cp-2-configuration"), Type: typeConfiguration},
		{URN: urn(typeVM, "cp-1-vm"), Type: typeVM},
	}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"cp-1": "first"}, applied)

	var planned artifacts.Planned
	require.Equal(t, applied, planned.Over(applied))
	planned.Take("cp-1", "next")
	planned.Take("cp-2", "second")
	require.Equal(t, map[string]string{"cp-1": "next", "cp-2": "second"}, planned.Over(applied))
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
