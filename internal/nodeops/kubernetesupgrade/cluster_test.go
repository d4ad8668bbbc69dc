package kubernetesupgrade_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
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
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	labkubernetes "github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesupgrade"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/versions"
)

const (
	iso       = "local:iso/talos-v1.13.9-nocloud-amd64.iso"
	installer = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.13.9"
	// firstControlPlane and firstWorker are VMIDs, and the last numbers of the nodes' addresses.
	firstControlPlane, firstWorker = 101, 111
	kubernetesVersion              = "1.35.4"
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

// cluster is a cluster of emulated nodes with real Kubernetes processes.
type cluster struct {
	t       *testing.T
	fleet   *talos.Fleet
	network netip.Addr
	nodes   []rolling.Node
}

// newCluster brings up a cluster, and ends it with the test.
func newCluster(t *testing.T, controlPlanes, workers int, faults talos.Faults) *cluster {
	t.Helper()
	installed, err := toolchain.Install(t.Context(), toolchain.Options{Names: []string{"controlplane", "kwok"}, Progress: os.Stderr})
	require.NoError(t, err)
	pods, err := labkubernetes.New(labkubernetes.Config{
		Dir: t.TempDir(), Scaled: func(time.Duration) time.Duration { return 0 }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Tools: labkubernetes.Tools{ControlPlane: installed.Tools[0].Path, Kwok: installed.Tools[1].Path},
	})
	require.NoError(t, err)
	fleet, err := talos.NewFleet(talos.Config{StateDir: t.TempDir(), Kubernetes: pods, Faults: faults})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, fleet.Close())
		require.NoError(t, pods.Close())
	})
	c := &cluster{t: t, fleet: fleet, network: freeNetwork(t)}
	for i := range controlPlanes {
		c.join(firstControlPlane+i, fmt.Sprintf("control-%d", i+1), machinetype.TypeControlPlane)
	}
	for i := range workers {
		c.join(firstWorker+i, fmt.Sprintf("worker-%d", i+1), machinetype.TypeWorker)
	}
	polltest.Succeeds(t, func() error {
		return nodeops.WaitUntilReady(t.Context(), c.talosconfig(), nodeops.Awaited{Nodes: c.names()})
	})
	return c
}

// freeNetwork returns an address whose last byte is free for nodes.
func freeNetwork(t *testing.T) netip.Addr {
	t.Helper()
	for range 100 {
		address := netip.AddrFrom4([4]byte{127, byte(150 + rand.IntN(50)), byte(rand.IntN(256)), firstControlPlane})
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

func (c *cluster) names() []string {
	var names []string
	for _, node := range c.nodes {
		names = append(names, node.Name)
	}
	return names
}

// join installs a node. The first control plane is bootstrapped.
func (c *cluster) join(vmid int, name string, kind machinetype.Type) {
	c.t.Helper()
	require.NoError(c.t, c.fleet.PowerOn(c.t.Context(), talos.Hardware{
		VMID: vmid, Name: name, CPUs: 4, MemoryMiB: 4096, ISO: iso,
		Disks:     []talos.Disk{{ID: fmt.Sprintf("tank:vm-%d-disk-0", vmid), Bytes: 64 << 30}},
		NICs:      []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, byte(vmid)}}},
		CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(c.address(vmid), 24)}, Hostname: name},
	}))
	c.waitFor(vmid, talos.StageMaintenance)
	api, err := client.New(c.t.Context(), client.WithEndpoints(c.address(vmid).String()),
		client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true})) //nolint:gosec // that is the mode
	require.NoError(c.t, err)
	_, err = api.ApplyConfiguration(c.t.Context(), &machine.ApplyConfigurationRequest{Data: c.configuration(kind)})
	require.NoError(c.t, err)
	require.NoError(c.t, api.Close())
	c.waitFor(vmid, talos.StageRunning)
	c.nodes = append(c.nodes, rolling.Node{Name: name, Address: c.address(vmid), ControlPlane: kind.IsControlPlane()})
	if vmid == firstControlPlane {
		polltest.Succeeds(c.t, func() error {
			return nodeops.Ask(c.t.Context(), c.talosconfig(), c.address(vmid).String(), func(ctx context.Context, api *client.Client) error {
				return api.Bootstrap(ctx, &machine.BootstrapRequest{})
			})
		})
	}
}

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

// configuration returns a machine configuration, changed by the patches.
func (c *cluster) configuration(kind machinetype.Type, patches ...func(*v1alpha1.Config)) []byte {
	c.t.Helper()
	made, err := bundle()
	require.NoError(c.t, err)
	input, err := generate.NewInput("home", "https://"+c.address(firstControlPlane).String()+":6443", kubernetesVersion,
		generate.WithSecretsBundle(made), generate.WithVersionContract(config.TalosVersion1_12),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(installer))
	require.NoError(c.t, err)
	generated, err := input.Config(kind)
	require.NoError(c.t, err)
	raw := generated.RawV1Alpha1()
	for _, patch := range patches {
		patch(raw)
	}
	text, err := container.NewV1Alpha1(raw).Bytes()
	require.NoError(c.t, err)
	return text
}

// patch applies a changed configuration without a reboot.
func (c *cluster) patch(vmid int, kind machinetype.Type, patches ...func(*v1alpha1.Config)) {
	c.t.Helper()
	require.NoError(c.t, nodeops.Ask(c.t.Context(), c.talosconfig(), c.address(vmid).String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{
			Data: c.configuration(kind, patches...), Mode: machine.ApplyConfigurationRequest_NO_REBOOT,
		})
		return err
	}))
}

// talosconfig returns that of the cluster's administrator.
func (c *cluster) talosconfig() []byte {
	c.t.Helper()
	made, err := bundle()
	require.NoError(c.t, err)
	certificate, err := made.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	require.NoError(c.t, err)
	text, err := clientconfig.NewConfig("home", []string{c.address(firstControlPlane).String()}, made.Certs.OS.Crt, certificate).Bytes()
	require.NoError(c.t, err)
	return text
}

func (c *cluster) kubernetes() *kubernetes.Clientset {
	c.t.Helper()
	text, err := nodeops.Kubeconfig(c.t.Context(), c.talosconfig(), c.address(firstControlPlane).String())
	require.NoError(c.t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	require.NoError(c.t, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(c.t, err)
	return api
}

// upgrade returns the upgrade of the whole cluster, which waits only shortly for what is missing.
func (c *cluster) upgrade(to string) kubernetesupgrade.Upgrade {
	c.t.Helper()
	version, err := versions.Parse(to)
	require.NoError(c.t, err)
	return kubernetesupgrade.Upgrade{
		Talosconfig: c.talosconfig(), Nodes: c.nodes, To: version, Progress: c.t.Output(),
		Limits: kubernetesupgrade.Limits{Nodes: time.Second, Interval: 20 * time.Millisecond},
	}
}

// lines collects what an upgrade says, and ends it after a number of lines.
type lines struct {
	said  bytes.Buffer
	after int // 0: never
	end   context.CancelFunc
}

func (l *lines) Write(text []byte) (int, error) {
	l.said.Write(text)
	if l.after > 0 && strings.Count(l.said.String(), "\n") >= l.after {
		l.end()
	}
	return len(text), nil
}
