package nodeops_test

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	iso       = "local:iso/talos-v1.12.4-nocloud-amd64.iso"
	installer = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	vmid      = 101
)

// TestMain removes the proxy settings of the environment: the tests connect to loopback only.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// The secrets of two clusters, generated once, because their keys take most of the time of a test.
var (
	ours   = sync.OnceValues(newSecrets)
	theirs = sync.OnceValues(newSecrets)
)

func newSecrets() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
}

// machineUnderTest is one emulated machine, VM 101, on its own loopback address.
type machineUnderTest struct {
	t       *testing.T
	fleet   *talos.Fleet
	address netip.Addr
}

// powerOn starts a machine in maintenance mode. It stops when the test ends.
func powerOn(t *testing.T, changes ...func(*talos.Config, *talos.Hardware)) *machineUnderTest {
	t.Helper()
	m := &machineUnderTest{t: t, address: freeAddress(t)}
	config := talos.Config{StateDir: t.TempDir()}
	hardware := talos.Hardware{
		VMID: vmid, Name: "k3s-dev-control-1", CPUs: 4, MemoryMiB: 4096, ISO: iso,
		Disks:     []talos.Disk{{ID: "tank:vm-101-disk-0", Bytes: 64 << 30}},
		NICs:      []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, vmid}}},
		CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(m.address, 24)}, Hostname: "k3s-dev-control-1"},
	}
	for _, change := range changes {
		change(&config, &hardware)
	}
	fleet, err := talos.NewFleet(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })
	m.fleet = fleet
	require.NoError(t, fleet.PowerOn(t.Context(), hardware))
	m.waitFor(talos.StageMaintenance)
	return m
}

// freeAddress returns a loopback address whose Talos port is free.
func freeAddress(t *testing.T) netip.Addr {
	t.Helper()
	for range 100 {
		address := netip.AddrFrom4([4]byte{127, byte(200 + rand.IntN(50)), byte(rand.IntN(256)), 11})
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, constants.ApidPort).String())
		if err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
	t.Fatal("no free loopback address")
	return netip.Addr{}
}

func (m *machineUnderTest) waitFor(stage talos.Stage) {
	m.t.Helper()
	polltest.Until(m.t, func() bool {
		nodes := m.fleet.Nodes()
		return len(nodes) == 1 && nodes[0].Stage == stage
	}, "stage ", stage)
}

// apply sends the configuration of a cluster's first control plane to a machine in maintenance mode.
func (m *machineUnderTest) apply(bundle *secrets.Bundle) {
	m.t.Helper()
	input, err := generate.NewInput("k3s-dev", "https://"+m.address.String()+":6443", constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(bundle), generate.WithVersionContract(config.TalosVersion1_12),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(installer))
	require.NoError(m.t, err)
	generated, err := input.Config(machinetype.TypeControlPlane)
	require.NoError(m.t, err)
	data, err := generated.Bytes()
	require.NoError(m.t, err)
	api, err := client.New(m.t.Context(), client.WithEndpoints(m.address.String()),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // that is the mode
	require.NoError(m.t, err)
	_, err = api.ApplyConfiguration(m.t.Context(), &machine.ApplyConfigurationRequest{Data: data})
	require.NoError(m.t, err)
	require.NoError(m.t, api.Close())
}

// bootstrap retries until the container runtime is up, as the provider does.
func (m *machineUnderTest) bootstrap(bundle *secrets.Bundle) {
	m.t.Helper()
	api, err := client.New(m.t.Context(), client.WithConfig(adminOf(m.t, bundle, m.address)))
	require.NoError(m.t, err)
	polltest.Until(m.t, func() bool {
		return api.Bootstrap(m.t.Context(), &machine.BootstrapRequest{}) == nil
	})
	require.NoError(m.t, api.Close())
}

func secretsOf(t *testing.T, bundle func() (*secrets.Bundle, error)) *secrets.Bundle {
	t.Helper()
	made, err := bundle()
	require.NoError(t, err)
	return made
}

// adminOf returns the talosconfig of a cluster's administrator.
func adminOf(t *testing.T, bundle *secrets.Bundle, address netip.Addr) *clientconfig.Config {
	t.Helper()
	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	require.NoError(t, err)
	return clientconfig.NewConfig("k3s-dev", []string{address.String()}, bundle.Certs.OS.Crt, certificate)
}

func talosconfigOf(t *testing.T, bundle *secrets.Bundle, address netip.Addr) []byte {
	t.Helper()
	text, err := adminOf(t, bundle, address).Bytes()
	require.NoError(t, err)
	return text
}

func credentialsOf(t *testing.T, bundle *secrets.Bundle, address netip.Addr) nodeops.Credentials {
	t.Helper()
	admin := adminOf(t, bundle, address).Contexts["k3s-dev"]
	return nodeops.Credentials{CA: admin.CA, Certificate: admin.Crt, Key: admin.Key}
}
