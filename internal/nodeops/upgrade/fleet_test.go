package upgrade_test

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
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

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	iso     = "local:iso/talos-v1.12.4-nocloud-amd64.iso"
	factory = "factory.talos.dev/nocloud-installer/"
	plain   = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	other   = "aaaaaaaad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba00"
	first   = 101
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

// bundle has the secrets of the cluster, generated once, because their keys take most of the time of a test.
var bundle = sync.OnceValues(func() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
})

// cluster is a number of emulated control planes on Talos v1.12.4, each on its own loopback address.
type cluster struct {
	t       *testing.T
	fleet   *talos.Fleet
	faults  *fault.Set
	network netip.Addr
	said    *strings.Builder
}

// newCluster brings up control planes. They stop when the test ends.
func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{t: t, faults: fault.NewSet([32]byte{1}, talos.FaultKinds()), network: freeNetwork(t), said: &strings.Builder{}}
	fleet, err := talos.NewFleet(talos.Config{StateDir: t.TempDir(), Faults: talos.NewFaultSet(c.faults, nil), Installer: released})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })
	c.fleet = fleet
	for i := range size {
		c.join(first + i)
	}
	return c
}

// released knows three releases.
func released(image string) (talos.Release, error) {
	release, err := talos.ReleaseFromReference(image)
	if err == nil && release.Version != "v1.12.4" && release.Version != "v1.12.11" && release.Version != "v1.12.2" {
		return release, fmt.Errorf("%s: not found", image)
	}
	return release, err
}

// freeNetwork returns an address whose last byte is free for nodes.
func freeNetwork(t *testing.T) netip.Addr {
	t.Helper()
	for range 100 {
		address := netip.AddrFrom4([4]byte{127, byte(100 + rand.IntN(50)), byte(rand.IntN(256)), first})
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, constants.ApidPort).String())
		if err == nil {
			require.NoError(t, listener.Close())
			return address
		}
	}
	t.Fatal("no free loopback address")
	return netip.Addr{}
}

func (c *cluster) address(vmid int) netip.Addr {
	four := c.network.As4()
	four[3] = byte(vmid)
	return netip.AddrFrom4(four)
}

// join installs a control plane, and waits until it has a vote.
func (c *cluster) join(vmid int) {
	c.t.Helper()
	c.powerOn(vmid)
	c.waitFor(vmid, talos.StageMaintenance)
	c.apply(vmid)
	c.waitFor(vmid, talos.StageRunning)
	if vmid == first {
		polltest.Succeeds(c.t, func() error { return c.admin(vmid).Bootstrap(c.t.Context(), &machine.BootstrapRequest{}) })
	}
	c.waitVotes(vmid)
}

func (c *cluster) powerOn(vmid int) {
	c.t.Helper()
	require.NoError(c.t, c.fleet.PowerOn(c.t.Context(), talos.Hardware{
		VMID: vmid, Name: nameOf(vmid), CPUs: 4, MemoryMiB: 4096, ISO: iso,
		Disks:     []talos.Disk{{ID: fmt.Sprintf("tank:vm-%d-disk-0", vmid), Bytes: 64 << 30}},
		NICs:      []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, byte(vmid)}}},
		CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(c.address(vmid), 24)}, Hostname: nameOf(vmid)},
	}))
}

func nameOf(vmid int) string { return fmt.Sprintf("control-%d", vmid-first+1) }

func (c *cluster) waitFor(vmid int, stage talos.Stage) {
	c.t.Helper()
	polltest.Until(c.t, func() bool {
		for _, node := range c.fleet.Nodes() {
			if node.VMID == vmid {
				return node.Stage == stage
			}
		}
		return false
	}, "stage ", stage)
}

func (c *cluster) waitVotes(vmid int) {
	c.t.Helper()
	polltest.Until(c.t, func() bool {
		status, err := c.admin(vmid).EtcdStatus(c.t.Context())
		return err == nil && !status.GetMessages()[0].GetMemberStatus().GetIsLearner() && status.GetMessages()[0].GetMemberStatus().GetLeader() != 0
	}, nameOf(vmid), " has no vote")
}

// leader returns the VMID of the leader of etcd.
func (c *cluster) leader(size int) int {
	c.t.Helper()
	for vmid := first; vmid < first+size; vmid++ {
		status, err := c.admin(vmid).EtcdStatus(c.t.Context())
		require.NoError(c.t, err)
		if member := status.GetMessages()[0].GetMemberStatus(); member.GetLeader() == member.GetMemberId() {
			return vmid
		}
	}
	c.t.Fatal("no leader")
	return 0
}

func (c *cluster) apply(vmid int) {
	c.t.Helper()
	secrets, err := bundle()
	require.NoError(c.t, err)
	input, err := generate.NewInput("home", "https://"+c.address(first).String()+":6443", constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(secrets), generate.WithVersionContract(config.TalosVersion1_12),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(factory+plain+":v1.12.4"))
	require.NoError(c.t, err)
	generated, err := input.Config(machinetype.TypeControlPlane)
	require.NoError(c.t, err)
	data, err := generated.Bytes()
	require.NoError(c.t, err)
	api, err := client.New(c.t.Context(), client.WithEndpoints(c.address(vmid).String()),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // that is the mode
	require.NoError(c.t, err)
	_, err = api.ApplyConfiguration(c.t.Context(), &machine.ApplyConfigurationRequest{Data: data})
	require.NoError(c.t, err)
	require.NoError(c.t, api.Close())
}

// talosconfig returns that of the cluster's administrator.
func (c *cluster) talosconfig() *clientconfig.Config {
	c.t.Helper()
	secrets, err := bundle()
	require.NoError(c.t, err)
	certificate, err := secrets.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	require.NoError(c.t, err)
	return clientconfig.NewConfig("home", []string{c.address(first).String()}, secrets.Certs.OS.Crt, certificate)
}

func (c *cluster) admin(vmid int) *client.Client {
	c.t.Helper()
	api, err := client.New(c.t.Context(), client.WithConfig(c.talosconfig()), client.WithEndpoints(c.address(vmid).String()))
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, api.Close()) })
	return api
}

// node returns the upgrade of a node to an image. Its limits are far beyond what the emulated node takes, or end at once.
func (c *cluster) node(vmid int, image string, limits upgrade.Limits) upgrade.Node {
	c.t.Helper()
	text, err := c.talosconfig().Bytes()
	require.NoError(c.t, err)
	limits.Interval = 10 * time.Millisecond
	return upgrade.Node{
		Name: nameOf(vmid), Address: c.address(vmid).String(), ControlPlane: true, Image: image,
		Talosconfig: text, Limits: limits, Progress: c.said,
	}
}

func (c *cluster) release(vmid int) nodeops.Release {
	c.t.Helper()
	text, err := c.talosconfig().Bytes()
	require.NoError(c.t, err)
	var seen nodeops.Running
	polltest.Succeeds(c.t, func() (err error) {
		seen, err = nodeops.LookAt(c.t.Context(), text, c.address(vmid).String())
		return err
	})
	return seen.Release
}

func (c *cluster) fail(name string, times int) {
	c.t.Helper()
	require.NoError(c.t, c.faults.Set(fault.Fault{Name: name, Times: times}))
}
