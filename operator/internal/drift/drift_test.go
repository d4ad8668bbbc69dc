package drift_test

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// The secrets of two clusters, created once, because creating the keys takes most of the time of a test.
var (
	ours   = sync.OnceValues(newSecrets)
	theirs = sync.OnceValues(newSecrets)
)

func newSecrets() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
}

// configuration returns the configuration of a worker with patches.
func configuration(t *testing.T, bundle func() (*secrets.Bundle, error), patches ...string) []byte {
	t.Helper()
	made, err := bundle()
	require.NoError(t, err)
	input, err := generate.NewInput("k3s-dev", "https://192.168.20.10:6443", constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(made), generate.WithVersionContract(config.TalosVersion1_12), generate.WithInstallDisk("/dev/sda"))
	require.NoError(t, err)
	plain, err := input.Config(machine.TypeWorker)
	require.NoError(t, err)
	loaded, err := configpatcher.LoadPatches(patches)
	require.NoError(t, err)
	patched, err := configpatcher.Apply(configpatcher.WithConfig(plain), loaded)
	require.NoError(t, err)
	text, err := patched.Bytes()
	require.NoError(t, err)
	return text
}

// secretPatches returns patches with a secret in places that Talos' own code does not redact, and with another's public key.
func secretPatches(secret, public string) []string {
	return []string{
		"machine: {systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{slot: 0, static: {passphrase: " + secret + "}}]}}}",
		"machine: {network: {interfaces: [{interface: wg0, wireguard: {privateKey: " + secret + ", peers: [{publicKey: " + public + "}]}}]}}",
		"apiVersion: v1alpha1\nkind: VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: " + secret + "}}]}",
		"apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: models\nencryption: {provider: luks2, keys: [{slot: 0, static: {passphrase: " + secret + "}}]}",
	}
}

func TestConfigurations(t *testing.T) {
	t.Parallel()
	const node = "k3s-dev-worker-1"
	password := rand.Text()
	for _, test := range []struct {
		name       string
		want, have []byte
		drift      []drift.Difference
	}{
		{name: "the same", want: configuration(t, ours), have: configuration(t, ours)},
		{name: "the same, written in another way", want: configuration(t, ours), have: append([]byte("# with a comment\n"), configuration(t, ours)...)},
		{
			name: "a value, one that is absent, one too many",
			want: configuration(t, ours, "machine: {sysctls: {vm.max_map_count: 262144, net.core.somaxconn: 1024}}"),
			have: configuration(t, ours, "machine: {sysctls: {vm.max_map_count: 65530}, nodeLabels: {by-hand: yes-indeed}}"),
			drift: []drift.Difference{
				{node, "configuration machine.nodeLabels.by-hand", "", "yes-indeed"},
				{node, "configuration machine.sysctls.net.core.somaxconn", "1024", ""},
				{node, "configuration machine.sysctls.vm.max_map_count", "262144", "65530"},
			},
		},
		{
			name:  "a document of its own",
			want:  configuration(t, ours, "apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: models\nprovisioning: {minSize: 20GiB}"),
			have:  configuration(t, ours, "apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: models\nprovisioning: {minSize: 40GiB}"),
			drift: []drift.Difference{{node, "configuration UserVolumeConfig/models.provisioning.minSize", "20GiB", "40GiB"}},
		},
		{
			name:  "only a secret",
			want:  configuration(t, ours, "machine: {token: "+rand.Text()+"}"),
			have:  configuration(t, ours, "machine: {token: "+rand.Text()+"}"),
			drift: []drift.Difference{{node, "configuration", "the secrets of the state", "other secrets"}},
		},
		{
			name: "another cluster's authorities",
			want: configuration(t, ours, "cluster: {id: ours}"),
			have: configuration(t, theirs, "cluster: {id: theirs}"),
			drift: []drift.Difference{
				{node, "configuration cluster.ca.crt", "(not shown)", "(not shown)"},
				{node, "configuration cluster.id", "ours", "theirs"},
				{node, "configuration machine.ca.crt", "(not shown)", "(not shown)"},
			},
		},
		{
			name:  "a secret that only its user knows as one",
			want:  configuration(t, ours, "machine: {env: {PROXY_PASSWORD: "+password+"}}"),
			have:  configuration(t, ours, "machine: {env: {PROXY_PASSWORD: other}}"),
			drift: []drift.Difference{{node, "configuration machine.env.PROXY_PASSWORD", "(not shown)", "(not shown)"}},
		},
		{
			name: "secrets that Talos does not redact",
			want: configuration(t, ours, secretPatches(password, "hers")...),
			have: configuration(t, ours, secretPatches(rand.Text(), "hers too")...),
			drift: []drift.Difference{
				{node, "configuration UserVolumeConfig/models.encryption.keys[0].static.passphrase", "(not shown)", "(not shown)"},
				{node, "configuration VolumeConfig/STATE.encryption.keys[0].static.passphrase", "(not shown)", "(not shown)"},
				{node, "configuration machine.network.interfaces[0].wireguard.peers[0].publicKey", "hers", "hers too"},
				{node, "configuration machine.network.interfaces[0].wireguard.privateKey", "(not shown)", "(not shown)"},
				{node, "configuration machine.systemDiskEncryption.ephemeral.keys[0].static.passphrase", "(not shown)", "(not shown)"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			differences, err := drift.Configurations(node, test.want, test.have)
			require.NoError(t, err)
			require.Equal(t, test.drift, differences)
		})
	}
}

func TestConfigurationsQuoteNothing(t *testing.T) {
	t.Parallel()
	_, err := drift.Configurations("k3s-dev-worker-1", []byte("machine: {token: "+rand.Text()), configuration(t, ours))
	require.EqualError(t, err, "the machine configuration of k3s-dev-worker-1 in the state cannot be read: run up again")
	_, err = drift.Configurations("k3s-dev-worker-1", configuration(t, ours), []byte(rand.Text()))
	require.EqualError(t, err, "the machine configuration that runs on k3s-dev-worker-1 cannot be read: run up again")
}

func TestNode(t *testing.T) {
	t.Parallel()
	want := drift.Wanted{
		Name: "k3s-dev-worker-1", Talos: "v1.12.4", Schematic: "3765", Configuration: configuration(t, ours),
	}
	same := nodeops.Observation{Talos: "v1.12.4", Schematic: "3765", Configuration: want.Configuration}
	differences, err := drift.Node(want, same)
	require.NoError(t, err)
	require.Empty(t, differences)

	other := same
	other.Talos, other.Schematic = "v1.12.3", "aaaa"
	differences, err = drift.Node(want, other)
	require.NoError(t, err)
	require.Equal(t, []drift.Difference{
		{"k3s-dev-worker-1", "Talos", "v1.12.4", "v1.12.3"},
		{"k3s-dev-worker-1", "schematic", "3765", "aaaa"},
	}, differences)

	elsewhere := want
	elsewhere.Schematic = ""
	for _, schematic := range []string{"", "3765"} {
		differences, err = drift.Node(elsewhere, nodeops.Observation{Talos: "v1.12.4", Schematic: schematic, Configuration: want.Configuration})
		require.NoError(t, err)
		require.Empty(t, differences, "an image that was made elsewhere has no schematic, or one that its name does not tell")
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	urn := func(kind, name string) resource.URN {
		return resource.URN("urn:pulumi:k3s-dev::em-infra::" + kind + "::" + name)
	}
	const vm = "proxmoxve:VM/virtualMachine:VirtualMachine"
	require.Equal(t, []drift.Difference{
		{"w-1-vm", "memory.dedicated", "8192", "4096"},
		{"w-1-vm", "tags", "[talos]", ""},
		{"w-2-vm", "existence", "there", "absent"},
		{"w-3-vm", "existence", "absent", "there"},
		{"w-4-vm", "existence", "made anew", "there"},
	}, drift.Resources([]plan.Step{
		{Op: apitype.OpUpdate, URN: urn("em-infra:index:TalosCluster", "k3s-dev"), Changed: []string{"machines"}},
		{Op: apitype.OpSame, URN: urn(vm, "cp-1-vm")},
		{
			Op: apitype.OpUpdate, URN: urn(vm, "w-1-vm"), Changed: []string{"memory.dedicated", "tags"},
			New: map[string]any{"memory": map[string]any{"dedicated": 8192}, "tags": []any{"talos"}},
			Old: map[string]any{"memory": map[string]any{"dedicated": 4096}},
		},
		{Op: apitype.OpCreate, URN: urn(vm, "w-2-vm"), New: map[string]any{"vmId": 105}},
		{Op: apitype.OpDelete, URN: urn(vm, "w-3-vm"), Old: map[string]any{"vmId": 106}},
		{Op: apitype.OpReplace, URN: urn(vm, "w-4-vm")}, // replaced without a visible difference, for example by a trigger
	}))
}
