package talos_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	taloscluster "github.com/siderolabs/talos/pkg/cluster"
	"github.com/siderolabs/talos/pkg/cluster/check"
	"github.com/siderolabs/talos/pkg/conditions"
	"github.com/siderolabs/talos/pkg/machinery/client"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// health is a cluster for Talos' own health checks. Their Kubernetes part is not tested here.
type health struct {
	taloscluster.K8sProvider

	client        *client.Client
	controlPlanes []netip.Addr
	workers       []netip.Addr
}

func (h *health) Client(...string) (*client.Client, error) { return h.client, nil }

func (h *health) Close() error { return nil }

func (h *health) Nodes() []taloscluster.NodeInfo {
	return append(h.NodesByType(machinetype.TypeControlPlane), h.NodesByType(machinetype.TypeWorker)...)
}

func (h *health) NodesByType(typ machinetype.Type) []taloscluster.NodeInfo {
	var addrs []netip.Addr

	switch typ {
	case machinetype.TypeControlPlane:
		addrs = h.controlPlanes
	case machinetype.TypeWorker:
		addrs = h.workers
	case machinetype.TypeInit, machinetype.TypeUnknown:
	}

	infos := make([]taloscluster.NodeInfo, 0, len(addrs))
	for _, addr := range addrs {
		infos = append(infos, taloscluster.NodeInfo{InternalIP: addr, IPs: []netip.Addr{addr}})
	}

	return infos
}

// talosChecks returns the checks of Talos, in the order of `talosctl health` and the provider.
func talosChecks() []check.ClusterCheck {
	return append(check.PreBootSequenceChecks(), func(info check.ClusterInfo) conditions.Condition {
		return conditions.PollingCondition("all control plane static pods to be running", func(ctx context.Context) error {
			return check.K8sControlPlaneStaticPods(ctx, info)
		}, time.Minute, time.Second)
	})
}

// firstFailure runs each check once, and returns the name of the first that fails.
func (h *health) firstFailure(t *testing.T) string {
	t.Helper()

	for _, make := range talosChecks() {
		condition := make(h)
		if err := tryOnce(t.Context(), condition); err != nil {
			return fmt.Sprint(condition)
		}
	}

	return ""
}

// tryOnce waits for a condition's first result, however long a busy machine takes, without the retries. Until then a
// condition describes itself with dots (pkg/conditions/poll.go).
func tryOnce(ctx context.Context, condition conditions.Condition) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	outcome := make(chan error, 1)
	go func() { outcome <- condition.Wait(ctx) }()

	for strings.HasSuffix(fmt.Sprint(condition), ": ...") {
		select {
		case err := <-outcome:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}

	cancel()

	return <-outcome
}

// hangs blocks one machine at one step forever.
type hangs struct {
	vmid int
	step talos.Step
}

// At implements talos.Faults.
func (h hangs) At(p talos.Point) talos.Effect {
	return talos.Effect{Hang: p.VMID == h.vmid && p.Name == string(h.step)}
}

// TestHealthChecks: Talos' own checks pass for a healthy cluster and fail at the right check for each broken one.
func TestHealthChecks(t *testing.T) {
	t.Parallel()

	const worker = 104

	for _, test := range []struct {
		name    string
		change  func(*talos.Config)
		harm    func(*testing.T, *lab, *cluster)
		failure string // the check, and Talos' error
	}{
		{name: "healthy"},
		{name: "quorum lost", harm: func(t *testing.T, l *lab, _ *cluster) {
			require.NoError(t, l.fleet.PowerOff(102))
			require.NoError(t, l.fleet.PowerOff(103))
		}, failure: "etcd to be healthy: "},
		{name: "a stranger among the members", harm: func(_ *testing.T, l *lab, c *cluster) {
			l.install(105, c.controlPlane())
			c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false, "vm-105": false})
		}, failure: "etcd members to be control plane nodes: etcd member ips "},
		{name: "worker off", harm: func(t *testing.T, l *lab, _ *cluster) {
			require.NoError(t, l.fleet.PowerOff(worker))
		}, failure: "apid to be ready: "},
		{name: "worker with too little memory", harm: func(t *testing.T, _ *lab, c *cluster) {
			c.replace(t, worker, func(h *talos.Hardware) { h.MemoryMiB = 512 })
		}, failure: "all nodes memory sizes: "},
		{name: "worker with too small a disk", harm: func(t *testing.T, l *lab, c *cluster) {
			require.NoError(t, l.fleet.Destroy(worker))

			small := l.hardware(worker)
			small.Disks[0].Bytes = 5 << 30
			require.NoError(t, l.fleet.PowerOn(t.Context(), small))
			l.waitStage(worker, talos.StageMaintenance)
			l.apply(worker, c.worker())
			l.waitStage(worker, talos.StageRunning)
			c.waitAPI(worker)
		}, failure: "all nodes disk sizes: "},
		{name: "kubelet stopped", harm: func(t *testing.T, _ *lab, c *cluster) {
			_, err := c.admin(102).ServiceStop(t.Context(), "kubelet")
			require.NoError(t, err)
		}, failure: "kubelet to be healthy: "},
		{
			name: "worker does not finish its boot", change: func(c *talos.Config) { c.Faults = hangs{worker, talos.StepServices} },
			failure: "all nodes to finish boot sequence: nodes are not running: booting: [",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			change := test.change
			if change == nil {
				change = func(*talos.Config) {}
			}

			l := newLab(t, change)
			c := l.threeControlPlanes()
			l.install(worker, c.worker())
			l.waitStage(worker, talos.StageRunning)

			if test.harm != nil {
				test.harm(t, l, c)
			}

			failed := l.healthOf(c, 3, worker).firstFailure(t)
			require.Truef(t, strings.HasPrefix(failed, test.failure) && (test.failure != "") == (failed != ""), "failed: %s", failed)
		})
	}
}

// replace gives a machine other hardware with the same disk.
func (c *cluster) replace(t *testing.T, vmid int, change func(*talos.Hardware)) {
	t.Helper()

	hardware := c.lab.hardware(vmid)
	change(&hardware)

	require.NoError(t, c.lab.fleet.PowerOff(vmid))
	require.NoError(t, c.lab.fleet.PowerOn(t.Context(), hardware))
	c.lab.waitStage(vmid, talos.StageRunning)
	c.waitAPI(vmid)
}

// healthOf returns the cluster with the given number of control planes, from machine 101 on, and workers.
func (l *lab) healthOf(c *cluster, controlPlanes int, workers ...int) *health {
	l.t.Helper()

	seen := &health{client: c.admin(101)}
	for i := range controlPlanes {
		seen.controlPlanes = append(seen.controlPlanes, l.address(101+i))
	}

	for _, worker := range workers {
		seen.workers = append(seen.workers, l.address(worker))
	}

	return seen
}

// TestSplitBrain: two control planes that were both bootstrapped are two clusters, which Talos' checks detect.
func TestSplitBrain(t *testing.T) {
	t.Parallel()

	starting := newHeldPace(talos.AssumedDurations().EtcdBootstrap)
	l := newLab(t, func(c *talos.Config) { c.Pace = starting })
	c := l.cluster("ha")

	for _, vmid := range []int{101, 102} {
		l.install(vmid, c.controlPlane())
		l.waitStage(vmid, talos.StageRunning)
		c.bootstrap(vmid) // none of the two finds a member to join
	}

	starting.release()
	c.waitHealthy(101, "etcd")
	c.waitHealthy(102, "etcd")

	failed := l.healthOf(c, 2).firstFailure(t)
	require.Truef(t, strings.HasPrefix(failed, "etcd members to be consistent across nodes: "), "failed: %s", failed)
}
