package machineconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

func TestWhatIsNotShown(t *testing.T) {
	t.Parallel()
	for path, secret := range map[string]bool{
		"machine.systemDiskEncryption.state.keys[0].static.passphrase":                                true,
		"machine.systemDiskEncryption.state.keys[0].slot":                                             false,
		"machine.systemDiskEncryption.state.keySize":                                                  false,
		"machine.network.interfaces[0].wireguard.privateKey":                                          true,
		"machine.network.interfaces[0].wireguard.peers[0].publicKey":                                  false,
		"machine.network.interfaces[0].bond.adUserPortKey":                                            false,
		"machine.network.interfaces[0].vip.hcloud.apiToken":                                           true,
		"machine.sysctls.net.ipv4.tcp_fastopen_key":                                                   true,
		"machine.sysctls.vm.swappiness":                                                               false,
		"machine.nodeLabels.example.org/key":                                                          false,
		"machine.nodeAnnotations.example.org/token":                                                   false,
		"machine.nodeTaints.example.org/key":                                                          false,
		"machine.kubelet.extraConfig.registerWithTaints[0].key":                                       false,
		"machine.kubelet.credentialProviderConfig.providers[0].env[0].value":                          true,
		"machine.files[0].content":                                                                    true,
		"machine.files[0].path":                                                                       false,
		"machine.env.HTTP_PROXY":                                                                      true,
		"machine.registries.config.ghcr.io.auth.username":                                             true,
		"cluster.apiServer.env.VAULT":                                                                 true,
		"cluster.apiServer.extraArgs.anonymous-auth":                                                  false,
		"cluster.apiServer.extraArgs.kubelet-client-key":                                              false,
		"cluster.scheduler.config.profiles[0].pluginConfig[0].args.defaultConstraints[0].topologyKey": false,
		"machine.registries.mirrors.docker.io.endpoints[0]":                                           false,
		"machine.registries.mirrors.docker.io.overridePath":                                           false,
		"machine.registries.config.ghcr.io.tls.clientIdentity.key":                                    true,
		"cluster.apiServer.extraArgs.authorization-mode":                                              false,
		"cluster.inlineManifests[0].contents":                                                         true,
		"cluster.inlineManifests[0].name":                                                             false,
		"UserVolumeConfig/models.encryption.keys[1].static.passphrase":                                true,
		"UserVolumeConfig/models.provisioning.minSize":                                                false,
		"HCloudVIPConfig/192.168.20.10.apiToken":                                                      true,
		"RegistryAuthConfig/ghcr.io.auth":                                                             true,
		"WireguardConfig/wg0.peers[0].presharedKey":                                                   true,
		"ExtensionServiceConfig/nut.environment[0]":                                                   true,
		"ExtensionServiceConfig/nut.configFiles[0].content":                                           true,
		"ExtensionServiceConfig/nut.configFiles[0].mountPath":                                         false,
		"ExtensionServiceConfig/nut.kind":                                                             false,
		"cluster.apiServer.admissionControl[0].configuration.exemptions.credentials[0]":               false,
		"cluster.apiServer.extraArgs.secret[0]":                                                       true,
	} {
		require.Equal(t, secret, machineconfig.IsSecret(path, "value"), path)
		require.False(t, machineconfig.IsSecret(path, ""), path)
	}
	for value, secret := range map[string]bool{
		"https://user:password@mirror.lan":                          true,
		"https://mirror.lan:5000/v2":                                false,
		"https://siderolink.api/?jointoken=x":                       true,
		"https://siderolink.api/?grpc_tunnel":                       false,
		"tcp://[fd00::1]:6051":                                      false,
		"https://s3.lan/image?X-Amz-Expires=60&X-Amz-Signature=abc": true,
		"https://blob.lan/image?sv=2022&sig=abc":                    true,
		"https://mirror.lan/image?design=dark":                      false,
	} {
		require.Equal(t, secret, machineconfig.IsSecret("machine.nodeLabels.example.org/mirror", value), value)
		require.Equal(t, secret, machineconfig.IsSecret("machine.install.image", value), value)
	}
}

func TestAPatchIsHiddenInPlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, patch, hidden string
		found               bool
	}{
		{"nothing to hide", "{machine: {sysctls: {vm.swappiness: \"1\"}}}", "{machine: {sysctls: {vm.swappiness: \"1\"}}}\n", false},
		{"a mapping", "machine: {token: abc, install: {disk: /dev/sda}}", "machine: {token: hidden, install: {disk: /dev/sda}}\n", true},
		{"text", "|\n  machine: {token: abc}\n  ---\n  kind: VolumeConfig\n  name: STATE\n", "|\n    machine: {token: hidden}\n    ---\n    kind: VolumeConfig\n    name: STATE\n", true},
		{"an alias", "machine: {sysctls: {a: &it abc}, token: *it}", "machine: {sysctls: {a: &it hidden}, token: *it}\n", true},
		{"null", "machine: {token: null}", "machine: {token: null}\n", false},
		{"comments", "# token: abc\nmachine:\n  # token: abc\n  install: {disk: /dev/sda} # token: abc\n", "machine:\n    install: {disk: /dev/sda}\n", true},
		{"comments in text", "|\n  # token: abc\n  machine: {install: {disk: /dev/sda}} # token: abc\n", "|\n    machine: {install: {disk: /dev/sda}}\n", true},
		{"text of comments alone", "|\n  # token: abc\n", "|-\n    hidden\n", true},
		{"text that is not YAML", "'machine: {token: abc'", "'hidden'\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var patch yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(test.patch), &patch))
			require.Equal(t, test.found, machineconfig.HidePatch(patch.Content[0], "hidden"))
			text, err := yaml.Marshal(&patch)
			require.NoError(t, err)
			require.Equal(t, test.hidden, string(text))
		})
	}
}

func TestHideNeedsAConfiguration(t *testing.T) {
	t.Parallel()
	_, err := machineconfig.Hide([]byte("token: {abc"), "hidden")
	require.EqualError(t, err, "Talos cannot read it")
}
