package talos_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

const (
	isoVolume      = "local:iso/talos-v1.12.4-nocloud-amd64.iso"
	installerImage = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	patience       = 20 * time.Second
)

// lab is a fleet on a network of its own, with one cluster's secrets.
type lab struct {
	t       testing.TB
	fleet   *talos.Fleet
	config  talos.Config
	network netip.Prefix
	faults  *talos.FaultSet
	log     *syncBuffer

	mu      sync.Mutex
	off     []int
	clients []*client.Client
	admins  map[adminKey]*client.Client
}

type adminKey struct {
	vmid   int
	bundle *secrets.Bundle
}

// newLab opens a fleet without delays, closed when the test ends.
func newLab(t testing.TB, changes ...func(*talos.Config)) *lab {
	t.Helper()

	l := &lab{t: t, network: freeNetwork(t), faults: talos.NewFaultSet(), log: &syncBuffer{}, admins: map[adminKey]*client.Client{}}
	l.config = talos.Config{StateDir: t.TempDir(), Faults: l.faults, Log: l.log, OnPowerOff: func(vmid int) {
		l.mu.Lock()
		defer l.mu.Unlock()

		l.off = append(l.off, vmid)
	}}

	for _, change := range changes {
		change(&l.config)
	}

	l.open()
	t.Cleanup(func() {
		l.closeClients()
		require.NoError(t, l.fleet.Close())
	})

	return l
}

func (l *lab) open() {
	l.t.Helper()

	fleet, err := talos.NewFleet(l.config)
	require.NoError(l.t, err)

	l.fleet = fleet
}

// reopen is a restart of the lab's process.
func (l *lab) reopen() {
	l.t.Helper()
	require.NoError(l.t, l.fleet.Close())
	l.open()
	require.NoError(l.t, l.fleet.Resume())
}

func (l *lab) poweredOff() []int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return append([]int(nil), l.off...)
}

// freeNetwork is a loopback network on which nobody listens.
func freeNetwork(t testing.TB) netip.Prefix {
	t.Helper()

	for range 100 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(100 + rand.IntN(100)), byte(rand.IntN(256)), 0}), 24)

		listener, err := net.Listen("tcp", netip.AddrPortFrom(host(network, 11), constants.ApidPort).String())
		if err == nil {
			require.NoError(t, listener.Close())

			return network
		}
	}

	t.Fatal("no free loopback network")

	return netip.Prefix{}
}

func host(network netip.Prefix, number int) netip.Addr {
	raw := network.Addr().As4()
	raw[3] = byte(number)

	return netip.AddrFrom4(raw)
}

// address of a machine: VMID 101 has .11.
func (l *lab) address(vmid int) netip.Addr { return host(l.network, vmid-90) }

func (l *lab) hardware(vmid int) talos.Hardware {
	return talos.Hardware{
		VMID: vmid, Name: fmt.Sprintf("vm-%d", vmid), CPUs: 4, MemoryMiB: 4096,
		Disks: []talos.Disk{{ID: fmt.Sprintf("local-lvm:vm-%d-disk-0", vmid), Bytes: 64 << 30}},
		NICs:  []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, byte(vmid)}}},
		CloudInit: talos.CloudInit{
			Addresses: []netip.Prefix{netip.PrefixFrom(l.address(vmid), 24)},
			Gateway:   host(l.network, 1),
			Hostname:  fmt.Sprintf("vm-%d", vmid),
		},
		ISO: isoVolume,
	}
}

func (l *lab) powerOn(vmid int) {
	l.t.Helper()
	require.NoError(l.t, l.fleet.PowerOn(l.t.Context(), l.hardware(vmid)))
}

func (l *lab) node(vmid int) talos.Node {
	l.t.Helper()

	for _, node := range l.fleet.Nodes() {
		if node.VMID == vmid {
			return node
		}
	}

	l.t.Fatalf("the fleet has no machine %d", vmid)

	return talos.Node{}
}

func (l *lab) waitStage(vmid int, stage talos.Stage) {
	l.t.Helper()
	l.eventually(func() bool { return l.node(vmid).Stage == stage }, "machine %d does not come to stage %s", vmid, stage)
}

// eventually waits until something is so, and shows the log when it never is.
func (l *lab) eventually(is func() bool, what string, args ...any) {
	l.t.Helper()

	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf(what+"; nodes: %v; log:\n%s", append(args, l.fleet.Nodes(), l.log)...)
		}
	}
}

// cluster is one cluster's secrets and configurations.
type cluster struct {
	lab    *lab
	bundle *secrets.Bundle
	input  *generate.Input
}

// contract is the machine configuration contract of the tests.
func contract() *config.VersionContract { return config.TalosVersion1_12 }

// The secrets of two clusters. They are made once: their RSA keys take most of the time of a test.
var (
	ourSecrets   = sync.OnceValues(newSecrets)
	theirSecrets = sync.OnceValues(newSecrets)
)

func newSecrets() (*secrets.Bundle, error) { return secrets.NewBundle(secrets.NewClock(), contract()) }

// cluster with secrets that all clusters of all labs share but those of anotherCluster.
func (l *lab) cluster(name string, options ...generate.Option) *cluster {
	l.t.Helper()

	bundle, err := ourSecrets()
	require.NoError(l.t, err)

	return l.clusterWith(bundle, name, options...)
}

func (l *lab) anotherCluster(name string) *cluster {
	l.t.Helper()

	bundle, err := theirSecrets()
	require.NoError(l.t, err)

	return l.clusterWith(bundle, name)
}

func (l *lab) clusterWith(bundle *secrets.Bundle, name string, options ...generate.Option) *cluster {
	l.t.Helper()

	options = append([]generate.Option{
		generate.WithSecretsBundle(bundle), generate.WithVersionContract(contract()),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(installerImage),
	}, options...)

	input, err := generate.NewInput(name, "https://"+l.address(101).String()+":6443", constants.DefaultKubernetesVersion, options...)
	require.NoError(l.t, err)

	return &cluster{lab: l, bundle: bundle, input: input}
}

// config of one machine of the cluster; patches change it in place.
func (c *cluster) config(typ machinetype.Type, patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	generated, err := c.input.Config(typ)
	require.NoError(c.lab.t, err)

	raw := generated.RawV1Alpha1().DeepCopy()
	for _, patch := range patches {
		patch(raw)
	}

	data, err := container.NewV1Alpha1(raw).EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	require.NoError(c.lab.t, err)

	return data
}

func (c *cluster) controlPlane(patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	return c.config(machinetype.TypeControlPlane, patches...)
}

func (c *cluster) worker(patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	return c.config(machinetype.TypeWorker, patches...)
}

// insecure is a client as it talks to maintenance mode.
func (l *lab) insecure(vmid int) *client.Client {
	l.t.Helper()

	c, err := client.New(l.t.Context(), client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true}), //nolint:gosec // that is the mode
		client.WithEndpoints(l.address(vmid).String()))
	require.NoError(l.t, err)

	return l.client(c)
}

// client keeps a client until the test ends, or closeClients ends it.
func (l *lab) client(c *client.Client) *client.Client {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.clients = append(l.clients, c)

	return c
}

func (l *lab) closeClients() {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, c := range l.clients {
		require.NoError(l.t, c.Close())
	}

	l.clients = nil
}

// as is a client with a certificate of this role, which talks to one machine.
func (c *cluster) as(who role.Role, vmid int) *client.Client {
	c.lab.t.Helper()

	certificate, err := c.bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(who), time.Hour)
	require.NoError(c.lab.t, err)

	endpoint := c.lab.address(vmid).String()
	settings := clientconfig.NewConfig("test", []string{endpoint}, c.bundle.Certs.OS.Crt, certificate)

	// a node that was away is tried again at once, not after gRPC's usual pause
	impatient := grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}, MinConnectTimeout: patience,
	})

	made, err := client.New(c.lab.t.Context(), client.WithConfig(settings), client.WithGRPCDialOptions(impatient))
	require.NoError(c.lab.t, err)

	return c.lab.client(made)
}

// admin is the client that a test uses for one machine all along.
func (c *cluster) admin(vmid int) *client.Client {
	c.lab.t.Helper()

	key := adminKey{vmid, c.bundle}
	if c.lab.admins[key] == nil {
		c.lab.admins[key] = c.as(role.Admin, vmid)
	}

	return c.lab.admins[key]
}

// install switches a machine on and applies a configuration to it in maintenance mode.
func (l *lab) install(vmid int, cfg []byte) {
	l.t.Helper()
	l.powerOn(vmid)
	l.waitStage(vmid, talos.StageMaintenance)
	l.apply(vmid, cfg)
}

func (l *lab) apply(vmid int, cfg []byte) {
	l.t.Helper()

	_, err := l.insecure(vmid).ApplyConfiguration(l.t.Context(), &machine.ApplyConfigurationRequest{Data: cfg})
	require.NoError(l.t, err)
}

// controlPlaneUp is a cluster with one bootstrapped control plane, machine 101.
func (l *lab) controlPlaneUp(name string, options ...generate.Option) *cluster {
	l.t.Helper()

	c := l.cluster(name, options...)
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)

	return c
}

// bootstrap bootstraps as the provider does: again until the container runtime is up.
func (c *cluster) bootstrap(vmid int) {
	c.lab.t.Helper()

	c.lab.eventually(func() bool {
		return c.admin(vmid).Bootstrap(c.lab.t.Context(), &machine.BootstrapRequest{}) == nil
	}, "machine %d cannot be bootstrapped", vmid)
}

// waitAPI waits until the secure API of a machine answers.
func (c *cluster) waitAPI(vmid int) {
	c.lab.t.Helper()
	c.lab.eventually(func() bool {
		_, err := c.admin(vmid).Version(c.lab.t.Context())

		return err == nil
	}, "the secure API of machine %d does not answer", vmid)
}

// serviceState is the state of a service as the API tells it, with its health; "" while the API does not answer.
func (c *cluster) serviceState(vmid int, id string) (string, bool) {
	c.lab.t.Helper()

	info, err := c.admin(vmid).ServiceInfo(c.lab.t.Context(), id)
	if err != nil || len(info) == 0 {
		return "", false
	}

	return info[0].Service.GetState(), info[0].Service.GetHealth().GetHealthy()
}

func (c *cluster) waitHealthy(vmid int, id string) {
	c.lab.t.Helper()
	c.lab.eventually(func() bool {
		state, healthy := c.serviceState(vmid, id)

		return state == "Running" && healthy
	}, "service %s of machine %d is not healthy", id, vmid)
}

// heldPace makes every delay none but one, which lasts until the test lets it go.
type heldPace struct {
	held time.Duration
	gate chan struct{}
}

func newHeldPace(held time.Duration) *heldPace {
	return &heldPace{held: held, gate: make(chan struct{})}
}

func (p *heldPace) release() { close(p.gate) }

// Sleep implements talos.Pacer.
func (p *heldPace) Sleep(ctx context.Context, d time.Duration) error {
	if d != p.held {
		return ctx.Err()
	}

	select {
	case <-p.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.String()
}

func TestMain(m *testing.M) {
	// the clients of these tests talk to loopback; a proxy of the environment is none of theirs
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}

	os.Exit(m.Run())
}

// has says whether the log has a step with this error.
func (b *syncBuffer) has(step, failure string) bool {
	for line := range strings.Lines(b.String()) {
		var entry struct{ Step, Error string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Step == step && entry.Error == failure {
			return true
		}
	}

	return false
}

// runsBy says whether the configuration that a node runs by contains a text. It compares without showing the
// configuration, which is full of secrets.
func (c *cluster) runsBy(vmid int, text string) bool {
	c.lab.t.Helper()

	found, err := safe.StateGetByID[*configres.MachineConfig](c.lab.t.Context(), c.admin(vmid).COSI, configres.ActiveID)
	require.NoError(c.lab.t, err)

	data, err := found.Provider().EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	require.NoError(c.lab.t, err)

	return strings.Contains(string(data), text)
}
