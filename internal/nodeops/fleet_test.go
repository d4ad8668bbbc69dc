package nodeops_test

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	release = "v1.12.4"
	vmid    = talostest.First
)

func TestMain(m *testing.M) { talostest.Main(m) }

// The secrets of two clusters.
var (
	ours   = sync.OnceValues(talostest.NewSecrets)
	theirs = sync.OnceValues(talostest.NewSecrets)
)

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
	hardware := talostest.Hardware(vmid, "k3s-dev-control-1", m.address, release)
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

func freeAddress(t *testing.T) netip.Addr {
	t.Helper()
	return talostest.FreeAddress(t, 11)
}

func (m *machineUnderTest) waitFor(stage talos.Stage) {
	m.t.Helper()
	talostest.AwaitStage(m.t, m.fleet, vmid, stage)
}

// apply sends the configuration of a cluster's first control plane to a machine in maintenance mode.
func (m *machineUnderTest) apply(bundle *secrets.Bundle) {
	m.t.Helper()
	m.applyAt(m.address, bundle)
}

// applyAt sends the configuration of a control plane to a machine in maintenance mode.
func (m *machineUnderTest) applyAt(address netip.Addr, bundle *secrets.Bundle) {
	m.t.Helper()
	talostest.Apply(m.t, address, talostest.Generated{
		Secrets: bundle, Cluster: "k3s-dev", Endpoint: m.address, Talos: release, Kubernetes: constants.DefaultKubernetesVersion,
	}.Configuration(m.t, machinetype.TypeControlPlane))
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

func adminOf(t *testing.T, bundle *secrets.Bundle, address netip.Addr) *clientconfig.Config {
	t.Helper()
	return talostest.Administrator(t, bundle, "k3s-dev", address)
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
