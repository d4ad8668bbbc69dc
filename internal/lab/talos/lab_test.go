package talos_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/loopbacktest"
)

const (
	isoVolume      = "local:iso/talos-v1.12.4-nocloud-amd64.iso"
	installerImage = "factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.4"
	patience       = 5 * time.Minute // after it a test fails; what is slow ends long before
)

// lab is a fleet on its own network, with one cluster's secrets.
type lab struct {
	t       testing.TB
	fleet   *talos.Fleet
	config  talos.Config
	network netip.Prefix
	faults  *fault.Set
	log     *syncBuffer
	// agentPort is set on the machines that the lab switches on.
	agentPort bool

	mu      sync.Mutex
	off     []int
	clients []*client.Client
	admins  map[adminKey]*client.Client
}

type adminKey struct {
	vmid   int
	bundle *secrets.Bundle
}

// newLab opens a fleet without delays. It is closed when the test ends.
func newLab(t testing.TB, changes ...func(*talos.Config)) *lab {
	t.Helper()

	l := &lab{t: t, network: loopbacktest.Network(t), faults: fault.NewSet([32]byte{}, talos.FaultKinds()), log: &syncBuffer{}, admins: map[adminKey]*client.Client{}}
	l.config = talos.Config{StateDir: t.TempDir(), Faults: talos.NewFaultSet(l.faults, nil), Log: l.log, OnPowerOff: func(vmid int) {
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

// reopen restarts the lab's process.
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

func host(network netip.Prefix, number int) netip.Addr {
	raw := network.Addr().As4()
	raw[3] = byte(number)

	return netip.AddrFrom4(raw)
}

// address returns the address of a machine: VMID 101 has .11.
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
		ISO: isoVolume, AgentPort: l.agentPort,
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

// eventually waits until a condition is true, and prints the end of the log if it never is.
func (l *lab) eventually(is func() bool, what string, args ...any) {
	l.t.Helper()

	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf(what+"; nodes: %v; log:\n%s", append(args, l.fleet.Nodes(), l.log.end())...)
		}
	}
}

// insecure returns a client for maintenance mode.
func (l *lab) insecure(vmid int) *client.Client {
	l.t.Helper()

	c, err := client.New(l.t.Context(), client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true}),
		client.WithEndpoints(l.address(vmid).String()))
	require.NoError(l.t, err)

	return l.client(c)
}

// client keeps a client until the test ends, or closeClients closes it.
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
