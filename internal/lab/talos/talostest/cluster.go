package talostest

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// First is the VMID of the first control plane of a cluster.
const First = 101

// Cluster is a cluster of emulated nodes, each on its own loopback address.
type Cluster struct {
	Fleet *talos.Fleet

	t                 testing.TB
	network           netip.Addr
	talos, kubernetes string
	controlPlanes     []netip.Addr
}

var clusterSecrets = sync.OnceValues(NewSecrets)

// NewCluster returns a cluster without nodes, whose nodes are installed with a release of Talos, such as v1.12.4, and a version of
// Kubernetes, such as 1.35.4. They stop when the test ends.
func NewCluster(t testing.TB, release, kubernetes string, config talos.Config) *Cluster {
	t.Helper()
	config.StateDir = t.TempDir()
	network := FreeAddress(t, First) // given back after the nodes have stopped
	fleet, err := talos.NewFleet(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })
	return &Cluster{Fleet: fleet, t: t, network: network, talos: release, kubernetes: kubernetes}
}

// For returns the same cluster for a part of the test: failures are those of that part, and it closes its clients.
func (c *Cluster) For(t testing.TB) *Cluster {
	lent := *c
	lent.t = t
	return &lent
}

// Address returns the address of a VMID, which is below 256.
func (c *Cluster) Address(vmid int) netip.Addr {
	four := c.network.As4()
	four[3] = byte(vmid)
	return netip.AddrFrom4(four)
}

// Join installs a node with its configuration, changed by the patches, and bootstraps the first control plane.
func (c *Cluster) Join(vmid int, name string, kind machinetype.Type, patches ...func(*v1alpha1.Config)) {
	c.t.Helper()
	if kind.IsControlPlane() {
		c.controlPlanes = append(c.controlPlanes, c.Address(vmid))
	}
	c.PowerOn(vmid, name)
	AwaitStage(c.t, c.Fleet, vmid, talos.StageMaintenance)
	Apply(c.t, c.Address(vmid), c.Configuration(kind, patches...))
	AwaitStage(c.t, c.Fleet, vmid, talos.StageRunning)
	if vmid == First {
		polltest.Succeeds(c.t, func() error { return c.Admin(vmid).Bootstrap(c.t.Context(), &machine.BootstrapRequest{}) })
	}
}

// PowerOn switches a machine on.
func (c *Cluster) PowerOn(vmid int, name string) {
	c.t.Helper()
	require.NoError(c.t, c.Fleet.PowerOn(c.t.Context(), Hardware(vmid, name, c.Address(vmid), c.talos)))
}

// Configuration returns the configuration of a node, changed by the patches.
func (c *Cluster) Configuration(kind machinetype.Type, patches ...func(*v1alpha1.Config)) []byte {
	c.t.Helper()
	return Generated{
		Secrets: c.Secrets(), Cluster: "home", Endpoint: c.Address(First), Talos: c.talos, Kubernetes: c.kubernetes,
	}.Configuration(c.t, kind, patches...)
}

// Secrets returns the secrets that all clusters of a package share.
func (c *Cluster) Secrets() *secrets.Bundle {
	c.t.Helper()
	bundle, err := clusterSecrets()
	require.NoError(c.t, err)
	return bundle
}

// Administrator returns the talosconfig of the cluster's administrator, with the control planes as its endpoints.
func (c *Cluster) Administrator() *clientconfig.Config {
	c.t.Helper()
	return Administrator(c.t, c.Secrets(), "home", c.controlPlanes...)
}

// Talosconfig returns the talosconfig of the administrator as text.
func (c *Cluster) Talosconfig() []byte {
	c.t.Helper()
	text, err := c.Administrator().Bytes()
	require.NoError(c.t, err)
	return text
}

// Admin returns a client of one node, which is closed when the test ends.
func (c *Cluster) Admin(vmid int) *client.Client {
	c.t.Helper()
	api, err := client.New(c.t.Context(), client.WithConfig(c.Administrator()), client.WithEndpoints(c.Address(vmid).String()))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, api.Close()) })
	return api
}
