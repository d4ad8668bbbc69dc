package machineconfig_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	document "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/network"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

// nocloud is how Talos validates a configuration on the platform nocloud.
type nocloud struct{}

func (nocloud) String() string        { return "cloud" }
func (nocloud) RequiresInstall() bool { return false }
func (nocloud) InContainer() bool     { return false }

func cluster(contract string, vip netip.Addr) machineconfig.Cluster {
	return machineconfig.Cluster{
		Contract:       contract,
		NodeSubnets:    []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")},
		VIP:            vip,
		PodSubnets:     []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		ServiceSubnets: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
		CNI:            machineconfig.CNIFlannel,
		Nameservers:    []netip.Addr{netip.MustParseAddr("192.168.20.1")},
		TimeServers:    []string{"time.cloudflare.com"},
	}
}

func node(name string, controlPlane bool) machineconfig.Node {
	return machineconfig.Node{
		Name:         name,
		ControlPlane: controlPlane,
		MAC:          net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, 1},
		Addresses:    []netip.Prefix{netip.MustParsePrefix("192.168.20.11/24")},
		Gateways:     []netip.Addr{netip.MustParseAddr("192.168.20.1")},
		MTU:          1500,
	}
}

func TestPatchesAreGoldenAndAcceptedByTalos(t *testing.T) {
	t.Parallel()

	vip := netip.MustParseAddr("192.168.20.10")
	dual := node("control-1", true)
	dual.Addresses = append(dual.Addresses, netip.MustParsePrefix("fd00:20::11/64"))
	dual.Gateways = append(dual.Gateways, netip.MustParseAddr("fd00:20::1"))

	storage := node("worker-1", false)
	storage.NICs = []machineconfig.NIC{
		{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, 2}, Address: netip.MustParsePrefix("10.0.40.21/24"), MTU: 9000},
		{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, 3}, MTU: 1500},
	}
	storage.DataDisks = []machineconfig.DataDisk{{Mount: "models", Drive: 1}, {Mount: "scratch", Drive: 2}}

	addons := cluster("v1.12", vip)
	addons.CNI, addons.KubeProxyReplacement, addons.KubeletServingCertificates = machineconfig.CNICilium, true, true
	addons.SnapshotNamespace = "etcd-backup"

	for _, test := range []struct {
		name    string
		cluster machineconfig.Cluster
		node    machineconfig.Node
	}{
		{"control-plane-v1.12-cilium", addons, node("control-1", true)},
		{"control-plane-v1.12-vip", cluster("v1.12", vip), node("control-1", true)},
		{"control-plane-v1.12-dns", cluster("v1.12", netip.Addr{}), node("control-1", true)},
		{"control-plane-v1.11-vip", cluster("v1.11", vip), node("control-1", true)},
		{"control-plane-v1.12-dual-stack", cluster("v1.12", vip), dual},
		{"worker-v1.12-vip", cluster("v1.12", vip), node("worker-1", false)},
		{"worker-v1.12-cilium", addons, node("worker-1", false)},
		{"worker-v1.12-data-disks-and-networks", cluster("v1.12", vip), storage},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			patches, err := machineconfig.Patches(test.cluster, test.node)
			require.NoError(t, err)
			golden.Equal(t, "testdata/"+test.name+".yaml", strings.Join(patches, "---\n"))

			merged := merge(t, test.cluster.Contract, test.node.ControlPlane, patches)
			_, err = merged.Validate(nocloud{})
			require.NoError(t, err)
			require.Equal(t, test.node.Name, merged.NetworkHostnameConfig().Hostname())
			inDocument := slices.ContainsFunc(merged.Documents(), func(d document.Document) bool {
				return d.Kind() == network.HostnameKind
			})
			inMachineSection := merged.RawV1Alpha1().MachineConfig.MachineNetwork.NetworkHostname != "" //nolint:staticcheck // the older of the two places
			require.NotEqual(t, inDocument, inMachineSection, "F29: one of the two places, never both")
		})
	}
}

func TestPatchesRefuseAContractThatIsNone(t *testing.T) {
	t.Parallel()

	_, err := machineconfig.Patches(cluster("latest", netip.Addr{}), node("control-1", true))
	require.EqualError(t, err, `contract "latest": error parsing version "vlatest"`)
}

func TestInstallImage(t *testing.T) {
	t.Parallel()

	patch, err := machineconfig.InstallImage("factory.talos.dev/nocloud-installer/376567988ad3:v1.12.4")
	require.NoError(t, err)
	require.Equal(t, "machine:\n  install:\n    image: factory.talos.dev/nocloud-installer/376567988ad3:v1.12.4\n", patch)
}

// merge does what the provider does with the patches: generate the defaults of the contract, then merge.
func merge(t *testing.T, contract string, controlPlane bool, patches []string) config.Provider {
	t.Helper()

	versionContract, err := config.ParseContractFromVersion(contract)
	require.NoError(t, err)
	input, err := generate.NewInput("k3s-dev", "https://192.168.20.10:6443", "1.35.4",
		generate.WithVersionContract(versionContract), generate.WithSecretsBundle(bundles.of(t, versionContract)),
		generate.WithInstallDisk("/dev/sda")) // the provider's own (terraform-provider-talos v0.10.1, pkg/talos/util.go)
	require.NoError(t, err)
	kind := machine.TypeWorker
	if controlPlane {
		kind = machine.TypeControlPlane
	}
	base, err := input.Config(kind)
	require.NoError(t, err)
	loaded, err := configpatcher.LoadPatches(patches)
	require.NoError(t, err)
	output, err := configpatcher.Apply(configpatcher.WithConfig(base), loaded)
	require.NoError(t, err)
	merged, err := output.Config()
	require.NoError(t, err)
	return merged
}

// secretBundles caches the keys that configurations are made with, one bundle for each contract, because generating them takes the most time.
type secretBundles struct {
	mu         sync.Mutex
	byContract map[string]*secrets.Bundle
}

var bundles = secretBundles{byContract: map[string]*secrets.Bundle{}}

func (b *secretBundles) of(t *testing.T, contract *config.VersionContract) *secrets.Bundle {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, made := b.byContract[contract.String()]; !made {
		bundle, err := secrets.NewBundle(secrets.NewClock(), contract)
		require.NoError(t, err)
		b.byContract[contract.String()] = bundle
	}
	return b.byContract[contract.String()]
}
