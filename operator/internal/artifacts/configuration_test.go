package artifacts_test

import (
	"crypto/rand"
	"strings"
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

func TestMachineConfigurationsHideWhatTalosDoesNot(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	run := begin(t)
	require.NoError(t, run.MachineConfigurations(map[string]string{"cp-1": `machine:
    type: worker
    install: {disk: /dev/sda}
    systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{slot: 0, static: {passphrase: ` + secret + `}}]}}
    network: {interfaces: [{interface: wg0, wireguard: {privateKey: ` + secret + `}}]}
    env: {PROXY: ` + secret + `}
---
apiVersion: v1alpha1
kind: UserVolumeConfig
name: models
encryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: ` + secret + `}}]}
`}))
	redacted := read(t, run, "machine-configurations/cp-1.yaml")
	require.NotContains(t, redacted, secret)
	require.Contains(t, redacted, "disk: /dev/sda")
	require.Contains(t, redacted, "kind: UserVolumeConfig")
	require.Equal(t, 2, strings.Count(redacted, "passphrase: '[secret]'"), redacted)
	require.Contains(t, redacted, "privateKey: '[secret]'")
	require.Contains(t, redacted, "PROXY: '[secret]'")
}

func TestThePatchesOfAnInventoryHideTheSame(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	run := begin(t)
	plain := "# em-infra\nname: k3s-dev\npatches:\n  - machine: {sysctls: {vm.swappiness: \"1\"}}\n"
	require.NoError(t, run.Inventory(map[string][]byte{
		"cluster.yaml": []byte(plain),
		"nodes.yaml": []byte(`nodes:
  - name: cp-1
    secretRef: git-credentials
    patches:
      # token: ` + secret + `
      - machine: # token: ` + secret + `
          # token: ` + secret + `
          registries: {config: {ghcr.io: {auth: {password: ` + secret + `}}}}
      - |
        apiVersion: v1alpha1
        kind: VolumeConfig
        name: STATE
        encryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: ` + secret + `}}]} # once ` + secret + `
      # token: ` + secret + `
`),
		"commented.yaml": []byte("patches:\n  # token: " + secret + "\n  - machine: {install: {disk: /dev/sda}}\n  # token: " + secret + "\n\nname: k3s-dev # mine\n"),
	}))
	require.Equal(t, plain, read(t, run, "inventory/cluster.yaml"), "what has nothing to hide stays as it is")
	hidden := read(t, run, "inventory/nodes.yaml")
	require.NotContains(t, hidden, secret)
	commented := read(t, run, "inventory/commented.yaml")
	require.NotContains(t, commented, secret)
	require.Contains(t, commented, "name: k3s-dev # mine")
	require.Contains(t, hidden, "secretRef: git-credentials")
	require.Contains(t, hidden, "password: '[secret]'")
	require.Contains(t, hidden, "passphrase: '[secret]'")
}

func TestAConfigurationThatIsNoneIsNotQuoted(t *testing.T) {
	t.Parallel()
	err := begin(t).MachineConfigurations(map[string]string{"cp-1": "secret: {"})
	require.EqualError(t, err, "machine configuration of cp-1: Talos cannot read it: run up again")
}
