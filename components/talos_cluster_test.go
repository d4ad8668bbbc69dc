package components_test

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	tokenVM      = "proxmoxve:VM/virtualMachine:VirtualMachine"
	tokenApply   = "talos:machine/configurationApply:ConfigurationApply"
	tokenSecrets = "talos:machine/secrets:Secrets"
	tokenCommand = "command:local:Command"
)

func TestPlanOfOneControlPlaneAndOneWorker(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	golden.Equal(t, "testdata/plan/one-and-one.golden", r.Plan())
}

func TestPreviewRegistersWhatAnUpdateDoes(t *testing.T) {
	t.Parallel()

	updated, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	previewed, err := run(t, true, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	require.Equal(t, slices.Sorted(maps.Keys(updated.Resources)), slices.Sorted(maps.Keys(previewed.Resources)))
}

func TestTwoClustersInOneProgramDoNotCollide(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		if _, err := oneAndOne("home")(ctx, providers); err != nil {
			return err
		}
		_, err := oneAndOne("office")(ctx, providers)
		return err
	})
	require.NoError(t, err)
}

func TestEveryCustomResourceHasAnExplicitProvider(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	for key, args := range r.Resources {
		if args.Custom && !strings.HasPrefix(args.TypeToken, "pulumi:") {
			require.NotEmpty(t, args.RegisterRPC.GetProvider(), key)
		}
	}
	for _, call := range r.Calls {
		require.NotEmpty(t, call.Provider, call.Token)
	}
}

func TestProtectionCoversAllThatBelongsToANode(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		kept := machineFixture("kept", components.RoleWorker, 21)
		kept.Protect = true
		args := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11), kept)
		args.Templates = []*components.TalosTemplate{template}
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	})
	require.NoError(t, err)
	var protected []string
	for _, args := range r.Resources {
		if args.RegisterRPC.GetProtect() {
			protected = append(protected, args.Name)
		}
	}
	slices.Sort(protected)
	require.Equal(t, []string{"k3s-dev-kept", "k3s-dev-kept-configuration", "k3s-dev-kept-membership", "k3s-dev-kept-vm"}, protected)
}

func TestCredentialsAreSecret(t *testing.T) {
	t.Parallel()

	secret := map[string]bool{}
	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		cluster, err := oneAndOne("k3s-dev")(ctx, providers)
		if err != nil {
			return err
		}
		for name, output := range map[string]pulumi.Output{"kubeconfig": cluster.Kubeconfig, "talosconfig": cluster.Talosconfig} {
			result, err := internals.UnsafeAwaitOutput(ctx.Context(), output)
			if err != nil {
				return err
			}
			secret[name] = result.Secret
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"kubeconfig": true, "talosconfig": true}, secret)
}

func TestF2SecretsAreNotReplacedByAnotherContract(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	require.Equal(t, []string{"talosVersion"}, r.Named(t, tokenSecrets, "k3s-dev-secrets").RegisterRPC.GetIgnoreChanges())
}

func TestF3ANewTemplateNeverReplacesANode(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	node := r.Named(t, tokenVM, "k3s-dev-worker-1-vm").RegisterRPC
	require.Equal(t, []string{"cdrom", "clone", "initialization.datastoreId", "initialization.interface", "initialization.dns", "smbios", "disks[0].speed", "agent.timeout"}, node.GetIgnoreChanges())
	require.Empty(t, node.GetPropertyDependencies()["clone"].GetUrns(), "the template's VMID must be a plain number")
	require.Contains(t, recorder.ShortURNs(node.GetDependencies()), "k3s-dev-template-vm")
}

func TestF16TheISOIsAdoptedAndNeverDeleted(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	volume := "local:iso/talos-v1.12.4-nocloud-" + schematicID(t, components.Schematic{})[:16] + "-amd64.iso"
	iso := r.Named(t, tokenCommand, "k3s-dev-template-iso").Inputs
	require.Equal(t, components.Tool+" iso ensure vmhost "+volume, iso["create"].StringValue())
	require.NotContains(t, iso, "delete", "machines whose drives name it would not start again")
	require.Equal(t, "https://factory.talos.dev/image/"+schematicID(t, components.Schematic{})+"/v1.12.4/nocloud-amd64.iso",
		iso["environment"].ObjectValue()["EM_INFRA_ISO_URL"].StringValue())
	require.True(t, iso["environment"].ObjectValue()["EM_INFRA_PROXMOX_TOKEN"].IsSecret())
	template := r.Named(t, tokenVM, "k3s-dev-template-vm")
	require.Equal(t, volume, template.Inputs["cdrom"].ObjectValue()["fileId"].StringValue(), "it is known, so that a token that changes replaces no template")
	require.Contains(t, recorder.ShortURNs(template.RegisterRPC.GetDependencies()), "k3s-dev-template-iso")
}

func TestNoTimeoutsAreGivenToTalosResources(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	for key, args := range r.Resources {
		if strings.HasPrefix(args.TypeToken, "talos:") {
			require.NotContains(t, args.Inputs, resource.PropertyKey("timeouts"), "%s: it could not be recorded, see docs/decisions/0005", key)
		}
	}
}

func TestF1F27ConfigurationsAreOfTheContractAndPinAddressesWithoutTheVIP(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	configurations := 0
	for _, call := range r.Calls {
		if call.Token != "talos:machine/getConfiguration:getConfiguration" {
			continue
		}
		configurations++
		require.Equal(t, "v1.12", call.Args["talosVersion"].StringValue(), "the contract, whatever version runs (F1)")
		var patches strings.Builder
		for _, patch := range call.Args["configPatches"].ArrayValue() {
			patches.WriteString(patch.StringValue())
		}
		words := strings.Join(strings.Fields(patches.String()), " ")
		const pinned = "Subnets: - 192.168.20.0/24 - '!192.168.20.10/32'"
		require.Contains(t, words, "valid"+pinned)
		require.Equal(t, call.Args["machineType"].StringValue() == "controlplane", strings.Contains(words, "advertised"+pinned))
	}
	require.Equal(t, 2, configurations)
}

// TestAKeyOfSecretboxIsAPatchOfOldContracts: their configurations are generated without it.
func TestAKeyOfSecretboxIsAPatchOfOldContracts(t *testing.T) {
	t.Parallel()
	for contract, want := range map[string]int{"v1.2": 1, "v1.12": 0} {
		r, err := run(t, false, discard(func(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.TalosCluster, error) {
			template, err := components.NewTalosTemplate(ctx, "k3s-dev-template", templateFixture("vmhost"), providers)
			if err != nil {
				return nil, err
			}
			args := clusterFixture("k3s-dev", machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11), machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
			args.Templates, args.Contract = []*components.TalosTemplate{template}, contract
			return components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		}))
		require.NoError(t, err)
		patches := 0
		for _, call := range r.Calls {
			if call.Token != "talos:machine/getConfiguration:getConfiguration" {
				continue
			}
			for _, patch := range call.Args["configPatches"].ArrayValue() {
				if strings.Contains(patch.StringValue(), "secretboxEncryptionSecret: ") {
					require.Equal(t, "controlplane", call.Args["machineType"].StringValue())
					patches++
				}
			}
		}
		require.Equal(t, want, patches, contract)
	}
}

func TestF28TalosEndpointsAreNodesNeverTheVIP(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	var endpoints []string
	for _, call := range r.Calls {
		if call.Token != "talos:client/getConfiguration:getConfiguration" {
			continue
		}
		for _, endpoint := range call.Args["endpoints"].ArrayValue() {
			endpoints = append(endpoints, endpoint.StringValue())
		}
	}
	slices.Sort(endpoints)
	require.Equal(t, []string{"192.168.20.11"}, slices.Compact(endpoints))
}

func TestMembershipWaitsOnceAndItsTextIsTheSameEverywhere(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	gate := r.Named(t, tokenCommand, "k3s-dev-worker-1-membership")
	require.Equal(t, "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node wait --address 192.168.20.21 --timeout 15m", gate.Inputs["create"].StringValue())
	const image = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	require.Equal(t, "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node upgrade --name k3s-dev-worker-1 --address 192.168.20.21 --image "+image,
		gate.Inputs["update"].StringValue(), "it never waits again")
	require.Equal(t, "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node upgrade --name k3s-dev-control-1 --address 192.168.20.11 --image "+image+" --control-plane",
		r.Named(t, tokenCommand, "k3s-dev-control-1-membership").Inputs["update"].StringValue())
	require.NotContains(t, gate.Inputs, "triggers")
	require.Equal(t, "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node remove --name k3s-dev-worker-1 --address 192.168.20.21 --drain-timeout 10m",
		gate.Inputs["delete"].StringValue())
	require.Equal(t, "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node remove --name k3s-dev-control-1 --address 192.168.20.11 --drain-timeout 10m --control-plane",
		r.Named(t, tokenCommand, "k3s-dev-control-1-membership").Inputs["delete"].StringValue())
	require.True(t, gate.Inputs["environment"].ObjectValue()["EM_INFRA_TALOSCONFIG"].IsSecret())
}

func TestArgumentsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewTalosCluster(ctx, "k3s-dev", &components.TalosClusterArgs{
			Machines:       []components.Machine{machineFixture("worker-1", components.RoleWorker, 21)},
			MaxUnavailable: -1, Canary: "worker-9", CanaryPause: -time.Minute, MinReady: -time.Second,
		}, providers)
		return err
	}), `talos cluster "k3s-dev": ClusterName: give the cluster a name
Endpoint: give the URL of the Kubernetes API
Contract: give the contract, e.g. v1.12
KubernetesVersion: give the version, e.g. v1.35.4
PodSubnets: give at least one
ServiceSubnets: give at least one
Machines: 0 with RoleControlPlane: give 1, 3 or 5
MaxUnavailable: give the number of workers, 0 for one
Canary: there is no machine worker-9: give the name of one of Machines
CanaryPause: give a time of 0 or more
MinReady: give a time of 0 or more
Subnets: give at least one
Gateways: give at least one
Bridge: name the bridge of Proxmox VE
Templates: there is none on host vmhost: add one, or share one`)
}

// TestMachinesAreCheckedAsStrictlyAsAnInventory: what only one can have is given once, and each has what Talos needs.
func TestMachinesAreCheckedAsStrictlyAsAnInventory(t *testing.T) {
	t.Parallel()

	control, twin, small := machineFixture("control-1", components.RoleControlPlane, 11), machineFixture("worker-1", components.RoleWorker, 21), machineFixture("worker-2", components.RoleWorker, 22)
	control.Cores, control.MemoryMiB = 1, 2047
	twin.Name, twin.VMID, twin.Addresses, twin.MAC = control.Name, control.VMID, control.Addresses, control.MAC
	twin.NICs = []components.NIC{{MAC: small.MAC, Bridge: "vmbr1", Address: netip.MustParsePrefix("192.168.20.1/32")}}
	small.VMID, small.MemoryMiB, small.DiskGiB = 9000, 1023, 9
	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		args := clusterFixture("k3s-dev", control, twin, small)
		args.Templates = []*components.TalosTemplate{template}
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	}), `talos cluster "k3s-dev": Machines[0]: Cores: 1 is too little for Talos on a control-plane: give at least 2 cores in all sockets
MemoryMiB: 2047 is too little for Talos on a control-plane: give at least 2048 MiB
Machines[1].Name: control-1 is that of Machines[0]: choose another
Machines[1].VMID: 111 is that of Machines[0]: choose another
Machines[1].MAC: bc:24:11:00:00:0b is that of Machines[0]: choose another
Machines[1].Addresses[0]: 192.168.20.11 is that of Machines[0]: choose another
Machines[1].NICs[0].Address: 192.168.20.1 is that of Network.Gateways[0]: choose another
Machines[2]: MemoryMiB: 1023 is too little for Talos on a worker: give at least 1024 MiB
DiskGiB: 9 is too little for Talos on a worker: give at least 10 GiB
Machines[2].VMID: 9000 is that of Templates[0]: choose another
Machines[2].MAC: bc:24:11:00:00:16 is that of Machines[1]: choose another`)

	least := machineFixture("control-1", components.RoleControlPlane, 11)
	least.Cores, least.Sockets, least.MemoryMiB, least.DiskGiB = 1, 2, 2048, 10
	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		args := clusterFixture("k3s-dev", least)
		args.Templates = []*components.TalosTemplate{template}
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	})
	require.NoError(t, err)
}

// TestAClusterIsCheckedAsStrictlyAsAnInventory: what becomes part of shell commands has its form, and no address is the zero value.
func TestAClusterIsCheckedAsStrictlyAsAnInventory(t *testing.T) {
	t.Parallel()

	endpoint := func(text string) func(*components.TalosClusterArgs) {
		return func(args *components.TalosClusterArgs) {
			location, err := url.Parse(text)
			require.NoError(t, err)
			args.Endpoint = location
		}
	}
	for _, test := range []struct {
		name, want string
		change     func(*components.TalosClusterArgs)
	}{
		{"a DNS name", "", endpoint("https://api.k3s-dev.example:443")},
		{"an IPv6 address", "", endpoint("https://[fd00:20::10]:6443")},
		{"a scheme", `Endpoint: "http://192.168.20.10:6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("http://192.168.20.10:6443")},
		{"no port", `Endpoint: "https://192.168.20.10" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://192.168.20.10")},
		{"no such port", `Endpoint: "https://192.168.20.10:65536" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://192.168.20.10:65536")},
		{"no host", `Endpoint: "https://:6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://:6443")},
		{"no address", `Endpoint: "https://192.168.20.256:6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://192.168.20.256:6443")},
		{"a zone", `Endpoint: "https://[fe80::1%25eth0]:6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://[fe80::1%25eth0]:6443")},
		{"shell", `Endpoint: "https://$(id):6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, func(args *components.TalosClusterArgs) {
			args.Endpoint = &url.URL{Scheme: "https", Host: "$(id):6443"}
		}},
		{"a path", `Endpoint: "https://192.168.20.10:6443/;id" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://192.168.20.10:6443/;id")},
		{"a query", `Endpoint: "https://192.168.20.10:6443?a=$(id)" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://192.168.20.10:6443?a=$(id)")},
		{"a password", `Endpoint: "https://me:xxxxx@192.168.20.10:6443" is not https://HOST:PORT: give one like https://192.168.20.10:6443`, endpoint("https://me:made-up@192.168.20.10:6443")},
		{"a minor release", `KubernetesVersion: "v1.35" is not a version: give one like v1.35.4`, func(args *components.TalosClusterArgs) { args.KubernetesVersion = "v1.35" }},
		{"a version without v", `KubernetesVersion: "1.35.4" is not a version: give one like v1.35.4`, func(args *components.TalosClusterArgs) { args.KubernetesVersion = "1.35.4" }},
		{"shell in a version", `KubernetesVersion: "v1.35.4; id" is not a version: give one like v1.35.4`, func(args *components.TalosClusterArgs) { args.KubernetesVersion = "v1.35.4; id" }},
		{"the address of a node for the API", "Machines[0].Addresses[0]: 192.168.20.11 is that of VIP: choose another", func(args *components.TalosClusterArgs) {
			args.VIP = netip.MustParseAddr("192.168.20.11")
		}},
		{"zero values", `PodSubnets[0]: it is the zero value: parse a text that is valid
ServiceSubnets[0]: it is the zero value: parse a text that is valid
Subnets[1]: it is the zero value: parse a text that is valid
Gateways[0]: it is the zero value: parse a text that is valid
Nameservers[0]: it is the zero value: parse a text that is valid
Machines[0]: Addresses[0]: it is the zero value: parse a text that is valid`, func(args *components.TalosClusterArgs) {
			args.PodSubnets, args.ServiceSubnets = make([]netip.Prefix, 1), make([]netip.Prefix, 1)
			args.Network.Subnets = append(slices.Clone(args.Network.Subnets), netip.Prefix{})
			args.Network.Gateways, args.Network.Nameservers = make([]netip.Addr, 1), make([]netip.Addr, 1)
			args.Machines[0].Addresses = make([]netip.Prefix, 1)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
				template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
				if err != nil {
					return err
				}
				args := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11))
				args.Templates = []*components.TalosTemplate{template}
				test.change(args)
				_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
				return err
			})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `talos cluster "k3s-dev": `+test.want)
		})
	}
}

// discard makes a program of a constructor.
func discard[T any](construct func(*pulumi.Context, pulumi.ResourceOption) (T, error)) func(*pulumi.Context, pulumi.ResourceOption) error {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := construct(ctx, providers)
		return err
	}
}
