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

// health is a cluster as Talos' own health checks see it; what they ask of Kubernetes is not part of these tests.
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

// talosChecks are the checks that ask Talos, in the order in which `talosctl health` and the provider make them.
func talosChecks() []check.ClusterCheck {
	return append(check.PreBootSequenceChecks(), func(info check.ClusterInfo) conditions.Condition {
		return conditions.PollingCondition("all control plane static pods to be running", func(ctx context.Context) error {
			return check.K8sControlPlaneStaticPods(ctx, info)
		}, time.Minute, time.Second)
	})
}

// firstFailure makes the checks, each once, and names the first that fails.
func (h *health) firstFailure(t *testing.T) string {
	t.Helper()

	for _, make := range talosChecks() {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		condition := make(h)
		err := condition.Wait(ctx)

		cancel()

		if err != nil {
			return fmt.Sprint(condition)
		}
	}

	return ""
}

// TestHealthChecks: Talos' own checks pass for a healthy cluster and fail at the right place for each broken one.
func TestHealthChecks(t *testing.T) {
	t.Parallel()

	const three, worker = 3, 104

	for _, test := range []struct {
		name    string
		harm    func(*testing.T, *lab, *cluster)
		failure string // begins with the check, and goes on with what Talos says is wrong
	}{
		{"healthy", func(*testing.T, *lab, *cluster) {}, ""},
		{"quorum lost", func(t *testing.T, l *lab, _ *cluster) {
			require.NoError(t, l.fleet.PowerOff(102))
			require.NoError(t, l.fleet.PowerOff(103))
		}, "etcd to be healthy"},
		{"a stranger among the members", func(t *testing.T, l *lab, c *cluster) {
			l.install(105, c.controlPlane())
			c.waitMembers(101, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false, "vm-105": false})
		}, "etcd members to be control plane nodes"},
		{"worker off", func(t *testing.T, l *lab, _ *cluster) { require.NoError(t, l.fleet.PowerOff(worker)) }, "apid to be ready"},
		{"worker with too little memory", func(t *testing.T, l *lab, c *cluster) {
			small := l.hardware(worker)
			small.MemoryMiB = 512

			require.NoError(t, l.fleet.PowerOff(worker))
			require.NoError(t, l.fleet.PowerOn(t.Context(), small))
			l.waitStage(worker, talos.StageRunning)
			c.waitAPI(worker)
		}, "all nodes memory sizes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			c := l.threeControlPlanes()
			l.install(worker, c.worker())
			l.waitStage(worker, talos.StageRunning)
			test.harm(t, l, c)

			seen := &health{client: c.admin(101), workers: []netip.Addr{l.address(worker)}}
			for i := range three {
				seen.controlPlanes = append(seen.controlPlanes, l.address(101+i))
			}

			failed := seen.firstFailure(t)
			require.Truef(t, strings.HasPrefix(failed, test.failure) && (test.failure != "" || failed == ""), "failed: %s", failed)
		})
	}
}
