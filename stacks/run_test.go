package stacks_test

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

const tokenVM = "proxmoxve:VM/virtualMachine:VirtualMachine"

func run(t testing.TB, config map[string]string) (*recorder.Recorder, error) {
	t.Helper()
	return runWith(t, stacks.Options{Root: ".."}, config)
}

func runWith(t testing.TB, options stacks.Options, config map[string]string, more ...pulumi.RunOption) (*recorder.Recorder, error) {
	t.Helper()
	return recorder.Run(t, stacks.Program(options), append([]pulumi.RunOption{recorder.Config(config)}, more...)...)
}

// reachable returns a configuration with a token made up for the test.
func reachable(further map[string]string) map[string]string {
	config := map[string]string{
		"em-infra:proxmoxEndpoint": "https://vmhost:8006",
		"em-infra:proxmoxToken":    "em-infra@pve!test=made-up",
	}
	maps.Copy(config, further)
	return config
}

func TestTheOutputsAreTheContract(t *testing.T) {
	t.Parallel()

	e, err := run(t, reachable(nil))
	require.NoError(t, err)
	require.Equal(t, []string{
		"kubeconfig", "kubernetesEndpoint", "outputContractVersion", "talosClusterName", "talosControlPlaneEndpoints",
		"talosNodeAddresses", "talosVmIds", "talosconfig",
	}, slices.Sorted(maps.Keys(e.Exports)))
	require.Equal(t, pulumi.String("1"), e.Exports["outputContractVersion"])
	require.Equal(t, pulumi.String("k3s-dev"), e.Exports["talosClusterName"])
	require.Equal(t, pulumi.StringArray{pulumi.String("192.168.20.11")}, e.Exports["talosControlPlaneEndpoints"])
	require.Equal(t, pulumi.StringMap{"k3s-dev-control-1": pulumi.String("192.168.20.11"), "k3s-dev-worker-1": pulumi.String("192.168.20.21"), "k3s-dev-gpu-1": pulumi.String("192.168.20.31")}, e.Exports["talosNodeAddresses"])
	require.Equal(t, pulumi.IntMap{"k3s-dev-control-1": pulumi.Int(101), "k3s-dev-worker-1": pulumi.Int(102), "k3s-dev-gpu-1": pulumi.Int(103)}, e.Exports["talosVmIds"])
	require.Equal(t, pulumi.String("https://192.168.20.10:6443"), e.Exports["kubernetesEndpoint"])
}

// The state contains the builds of the plugins that wrote it, if they are known.
func TestTheBuildsOfPluginsAreNoted(t *testing.T) {
	t.Parallel()
	e, err := runWith(t, stacks.Options{Root: "..", Plugins: map[string]string{"talos": "v0.7.1, official"}}, reachable(nil))
	require.NoError(t, err)
	require.Equal(t, pulumi.StringMap{"talos": pulumi.String("v0.7.1, official")}, e.Exports["plugins"])
}

// An endpoint in another spelling is not shown as a change.
func TestThePathOfTheEndpointDoesNotCount(t *testing.T) {
	t.Parallel()
	plain, err := run(t, reachable(nil))
	require.NoError(t, err)
	for _, behind := range []string{"/", "/api2/json"} {
		longer, err := run(t, reachable(map[string]string{"em-infra:proxmoxEndpoint": "https://vmhost:8006" + behind}))
		require.NoError(t, err)
		for name, token := range map[string]string{"proxmox": "pulumi:providers:proxmoxve", "k3s-dev-template-vmhost-iso": "command:local:Command"} {
			inputs := longer.Named(t, token, name).Inputs
			require.NotEmpty(t, inputs, name)
			require.Equal(t, plain.Named(t, token, name).Inputs, inputs, name)
		}
	}
}

func TestARehearsalMovesTheNodesAndNothingElse(t *testing.T) {
	t.Parallel()

	onHost, err := run(t, reachable(nil))
	require.NoError(t, err)
	rehearsed, err := run(t, reachable(map[string]string{"em-infra:labNetwork": "127.20.20.0/24"}))
	require.NoError(t, err)

	require.Equal(t, pulumi.String("https://127.20.20.10:6443"), rehearsed.Exports["kubernetesEndpoint"])
	require.Equal(t, slices.Sorted(maps.Keys(onHost.Resources)), slices.Sorted(maps.Keys(rehearsed.Resources)))
	for key, args := range onHost.Resources {
		if !args.Inputs.DeepEquals(rehearsed.Resources[key].Inputs) {
			require.Contains(t, []string{
				"k3s-dev", "k3s-dev-bootstrap", "k3s-dev-kubeconfig", "k3s-dev-kubernetes",
				"k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-gpu-1",
				"k3s-dev-control-1-vm", "k3s-dev-control-1-configuration", "k3s-dev-control-1-membership",
				"k3s-dev-worker-1-vm", "k3s-dev-worker-1-configuration", "k3s-dev-worker-1-membership",
				"k3s-dev-gpu-1-vm", "k3s-dev-gpu-1-configuration", "k3s-dev-gpu-1-membership",
			}, args.Name)
		}
	}
	vm := rehearsed.Named(t, tokenVM, "k3s-dev-worker-1-vm").Inputs
	require.Equal(t, onHost.Named(t, tokenVM, "k3s-dev-worker-1-vm").Inputs["networkDevices"], vm["networkDevices"], "the MAC stays")
}

func TestConfigurationIsRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		config map[string]string
		err    string
	}{
		{
			name: "nothing is set",
			err: "config em-infra:proxmoxEndpoint is not set: run `pulumi config set --stack k3s-dev em-infra:proxmoxEndpoint https://HOST:8006`\n" +
				"config em-infra:proxmoxToken is not set: run `pulumi config set --stack k3s-dev em-infra:proxmoxToken --secret 'USER@REALM!NAME=SECRET'`",
		},
		{
			name:   "factory is no URL",
			config: reachable(map[string]string{"em-infra:imageFactoryUrl": "factory.talos.dev"}),
			err:    "config em-infra:imageFactoryUrl: \"factory.talos.dev\" is no http or https URL: run `pulumi config set --stack k3s-dev em-infra:imageFactoryUrl https://factory.talos.dev`",
		},
		{
			name:   "lab network is no prefix",
			config: reachable(map[string]string{"em-infra:labNetwork": "127.20.20.0"}),
			err:    "config em-infra:labNetwork: netip.ParsePrefix(\"127.20.20.0\"): no '/': run `pulumi config set --stack k3s-dev em-infra:labNetwork 127.20.20.0/24`",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			e, err := run(t, test.config)
			require.EqualError(t, err, "1 error occurred:\n\t* "+test.err+"\n\n") // the SDK's own frame
			require.Empty(t, e.Resources, "nothing is registered before the configuration is sound")
		})
	}
}

// edited returns a copy of an inventory of the stack k3s-dev with a text in one of its files replaced.
func edited(t *testing.T, file, old, replacement string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		text, err := os.ReadFile(filepath.Join("k3s-dev", name))
		require.NoError(t, err)
		if name == file {
			require.Contains(t, string(text), old)
			text = []byte(strings.Replace(string(text), old, replacement, 1))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

func TestProtectCoversEverythingProvidersIncluded(t *testing.T) {
	t.Parallel()

	e, err := runWith(t, stacks.Options{Root: "..", Inventory: edited(t, "cluster.yaml", "protect: false", "protect: true")}, reachable(nil))
	require.NoError(t, err)
	for key, args := range e.Resources {
		require.True(t, args.RegisterRPC.GetProtect(), key)
	}
}

func TestTheProgramRefusesAnInventoryInTheWordsOfTheLoader(t *testing.T) {
	t.Parallel()

	dir := edited(t, "nodes.yaml", "192.168.20.21", "192.168.21.21")
	_, loading := inventory.Load(dir)
	require.Error(t, loading)
	e, err := runWith(t, stacks.Options{Root: "..", Inventory: dir}, reachable(nil))
	require.EqualError(t, err, "1 error occurred:\n\t* "+loading.Error()+"\n\n") // the SDK's own frame
	require.Empty(t, e.Resources)
}

// What the SDK keeps of the calls that led to a registration goes no further down than the program.
func TestTheProgramStandsApartFromItsCallers(t *testing.T) {
	t.Parallel()
	var callers []string
	birth := func() string {
		var counters [64]uintptr
		frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters[:])])
		for more := true; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			callers = append(callers, frame.Function)
		}
		return "00000000-0000-0000-0000-000000000000"
	}
	_, err := runWith(t, stacks.Options{Root: "..", NewBirth: birth}, reachable(nil))
	require.NoError(t, err)
	require.Contains(t, callers, "github.com/em-infra/em-infra/stacks.program")
	require.NotContains(t, callers, "github.com/pulumi/pulumi/sdk/v3/go/pulumi.RunWithContext")
}

func TestAPanicOfTheProgramIsOneOfItsCaller(t *testing.T) {
	t.Parallel()
	settings := recorder.Config(reachable(nil))
	var recovered any
	_, err := recorder.Run(t, func(ctx *pulumi.Context) error {
		defer func() { recovered = recover() }() // on the engine's goroutine, where no test may fail
		return stacks.Program(stacks.Options{Root: "..", NewBirth: func() string { panic("no birth today") }})(ctx)
	}, settings)
	require.NoError(t, err)
	require.Equal(t, "no birth today", recovered)
}
