package explain_test

import (
	"crypto/tls"
	"net/netip"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/operator/internal/explain"
)

// node is an emulated machine, VM 101, on its own loopback address.
type node struct {
	t       *testing.T
	address netip.Addr
	faults  *fault.Set
}

func powerOn(t *testing.T) node {
	t.Helper()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	fleet, err := talos.NewFleet(talos.Config{StateDir: t.TempDir(), Faults: talos.NewFaultSet(faults, nil)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })
	address := talostest.FreeAddress(t, 12)
	require.NoError(t, fleet.PowerOn(t.Context(), talostest.Hardware(101, "cp1", address, "v1.12.4")))
	return node{t: t, address: address, faults: faults}
}

func newSecrets(t *testing.T) *secrets.Bundle {
	t.Helper()
	bundle, err := talostest.NewSecrets()
	require.NoError(t, err)
	return bundle
}

// as returns a client of the node with a role of a cluster.
func (n node) as(bundle *secrets.Bundle, name role.Role) *client.Client {
	n.t.Helper()
	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(name), time.Hour)
	require.NoError(n.t, err)
	return n.dial(client.WithConfig(clientconfig.NewConfig("home", []string{n.address.String()}, bundle.Certs.OS.Crt, certificate)))
}

func (n node) dial(options ...client.OptionFunc) *client.Client {
	n.t.Helper()
	api, err := client.New(n.t.Context(), options...)
	require.NoError(n.t, err)
	n.t.Cleanup(func() { require.NoError(n.t, api.Close()) })
	return api
}

// insecure returns a client of a node in maintenance mode.
func (n node) insecure() *client.Client {
	n.t.Helper()
	return n.dial(client.WithEndpoints(n.address.String()), client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // that is the mode
}

// eventually repeats a call until its error matches a row; while a node boots, other errors occur.
func (n node) eventually(row string, call func() error) {
	n.t.Helper()
	var last error
	require.Eventually(n.t, func() bool {
		if last = call(); last == nil {
			return false
		}
		found := explain.Text(last.Error())
		return len(found) == 1 && found[0].Name == row
	}, time.Minute, 20*time.Millisecond, "%s: the last answer was %v", row, last)
}

func (n node) apply(bundle *secrets.Bundle) {
	n.t.Helper()
	data := talostest.Generated{
		Secrets: bundle, Cluster: "home", Endpoint: n.address, Talos: "v1.12.4", Kubernetes: constants.DefaultKubernetesVersion,
	}.Configuration(n.t, machinetype.TypeControlPlane)
	api := n.insecure()
	require.Eventually(n.t, func() bool {
		_, err := api.ApplyConfiguration(n.t.Context(), &machine.ApplyConfigurationRequest{Data: data})
		return err == nil
	}, time.Minute, 20*time.Millisecond)
}

// TestErrorsOfAnEmulatedNode follows the life of one control plane.
func TestErrorsOfAnEmulatedNode(t *testing.T) {
	t.Parallel()
	n, ours, theirs := powerOn(t), newSecrets(t), newSecrets(t)
	bootstrap := func(api *client.Client) func() error {
		return func() error { return api.Bootstrap(t.Context(), &machine.BootstrapRequest{}) }
	}

	n.eventually("in-maintenance", bootstrap(n.insecure()))
	n.apply(ours)
	n.eventually("foreign-node", bootstrap(n.as(theirs, role.Admin)))
	n.eventually("not-authorized", bootstrap(n.as(ours, role.Reader)))
	require.NoError(t, n.faults.Set(fault.Fault{Name: string(talos.FaultTimeNotInSync)}))
	n.eventually("bootstrap-early", bootstrap(n.as(ours, role.Admin)))
	_, err := n.faults.Clear(string(talos.FaultTimeNotInSync))
	require.NoError(t, err)
	n.eventually("bootstrapped", bootstrap(n.as(ours, role.Admin)))
}

func TestErrorOfANodeThatIsOff(t *testing.T) {
	t.Parallel()
	n := node{t: t, address: talostest.FreeAddress(t, 12)}
	n.eventually("node-away", func() error {
		_, err := n.as(newSecrets(t), role.Admin).Version(t.Context())
		return err
	})
}
