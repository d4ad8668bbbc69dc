package talos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

func TestFaultStaysInMaintenance(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultStaysInMaintenance, VMID: 101}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())

	l.eventually(func() bool { return l.log.has("leave-maintenance", "hangs, as a fault wants it") }, "the fault does not occur")
	require.Equal(t, talos.StageMaintenance, l.node(101).Stage)

	_, err := l.insecure(101).Disks(t.Context())
	require.NoError(t, err, "the maintenance API still answers")

	err = l.insecure(101).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err))

	// a power cycle solves it
	_, err = l.faults.Clear(talos.FaultStaysInMaintenance)
	require.NoError(t, err)
	require.NoError(t, l.fleet.PowerOff(101))
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
}

// TestFaultBootstrapAnswerLost: the answer to a successful bootstrap is lost, and the caller cannot repeat the call.
func TestFaultBootstrapAnswerLost(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultBootstrapLost, Times: 1}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	l.eventually(func() bool { state, _ := c.serviceState(101, "cri"); return state == "Running" }, "no container runtime")

	// as the provider calls it: through the node to itself
	ctx := client.WithNode(t.Context(), l.address(101).String())

	err := c.admin(101).Bootstrap(ctx, &machine.BootstrapRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Equal(t, 1, l.faults.List()[0].Occurred)

	err = c.admin(101).Bootstrap(ctx, &machine.BootstrapRequest{})
	require.Equal(t, codes.AlreadyExists, status.Code(err), "%v", err)
	c.waitHealthy(101, "etcd")
	require.True(t, l.node(101).Bootstrapped)
}

func TestFaultApplyHangs(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultApplyHangs}))
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	node, request := l.insecure(101), &machine.ApplyConfigurationRequest{Data: l.cluster("k3s-dev").controlPlane()}
	ended := make(chan error, 1)
	go func() {
		_, err := node.ApplyConfiguration(client.WithNode(ctx, l.address(101).String()), request) // as the provider calls it: with the node's name
		ended <- err
	}()
	l.eventually(func() bool { return l.faults.List()[0].Occurred > 0 }, "nothing is applied")
	cancel()

	err := <-ended
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
	require.Equal(t, talos.StageMaintenance, l.node(101).Stage)
}

func TestFaultCertificateWithheld(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultCertWithheld, VMID: 101}))
	l.install(101, l.cluster("k3s-dev").controlPlane())
	l.eventually(func() bool { return l.log.has("certificate", "hangs, as a fault wants it") }, "the fault does not occur")
	require.Equal(t, talos.StageBooting, l.node(101).Stage)

	_, err := l.faults.Clear("")
	require.NoError(t, err)
	l.waitStage(101, talos.StageRunning) // the node retries
}

func TestFaultAPIUnavailable(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultAPIUnavailable, VMID: 101, Times: 2}))

	for range 2 {
		_, err := c.admin(101).Version(t.Context())
		require.EqualError(t, err, "rpc error: code = Unavailable desc = the node does not answer")
	}

	_, err := c.admin(101).Version(t.Context())
	require.NoError(t, err)
}

// TestFaultOnAWorker occurs although the call names the node, because a worker does not forward.
func TestFaultOnAWorker(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultAPIUnavailable, VMID: 102, Times: 1}))

	_, err := c.admin(102).Version(client.WithNode(t.Context(), l.address(102).String()))
	require.EqualError(t, err, "rpc error: code = Unavailable desc = the node does not answer")
}

// TestFaultsAreTested checks that a test of this package sets each fault.
func TestFaultsAreTested(t *testing.T) {
	t.Parallel()

	tests, err := filepath.Glob("*_test.go")
	require.NoError(t, err)

	var all string

	for _, file := range tests {
		text, err := os.ReadFile(file)
		require.NoError(t, err)

		all += string(text)
	}

	source, err := os.ReadFile("fault_catalogue.go")
	require.NoError(t, err)

	for _, kind := range talos.FaultKinds() {
		constant := regexp.MustCompile(`(Fault\w+)\s+= "` + kind.Name + `"`).FindSubmatch(source)
		require.NotNil(t, constant, kind.Name)
		require.Contains(t, all, "talos."+string(constant[1]))
		require.NotEmpty(t, kind.About)
		require.NotEmpty(t, kind.Source)
	}
}

// TestFaultOnAHost occurs on the machines of that host only.
func TestFaultOnAHost(t *testing.T) {
	t.Parallel()

	asked := fault.NewSet([32]byte{}, talos.FaultKinds())
	require.NoError(t, asked.Set(fault.Fault{Name: talos.FaultBootHangs, Node: "vmhost2"}))

	set := talos.NewFaultSet(asked, func(vmid int) string { return map[int]string{101: "vmhost", 102: "vmhost2"}[vmid] })
	require.False(t, set.At(talos.Point{VMID: 101, Name: string(talos.StepBoot)}).Hang)
	require.True(t, set.At(talos.Point{VMID: 102, Name: string(talos.StepBoot)}).Hang)
}

func TestFaultBootHangs(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultBootHangs, Nth: 1}))
	require.NoError(t, c.admin(101).Reboot(t.Context()))
	l.eventually(func() bool { return l.log.has("boot", "hangs, as a fault wants it") }, "the fault does not occur")

	_, err := c.admin(101).Version(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)

	// a power cycle solves it
	require.NoError(t, l.fleet.PowerOff(101))
	l.powerOn(101)
	c.waitAPI(101)
}

// TestFaultAnotherCluster: a new node is not in maintenance mode, and accepts only clients of its own cluster.
func TestFaultAnotherCluster(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultAnotherCluster, VMID: 101}))
	l.powerOn(101)
	l.eventually(func() bool { return l.node(101).Cluster == "former-cluster" }, "no former cluster")
	l.eventually(func() bool {
		_, err := l.cluster("k3s-dev").admin(101).Version(t.Context())

		return strings.Contains(status.Convert(err).Message(), "x509: certificate signed by unknown authority")
	}, "no certificate of another authority")

	_, err := l.insecure(101).Disks(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err), "no maintenance mode: %v", err)

	// a blank disk solves it
	require.NoError(t, l.fleet.Destroy(101))
	_, err = l.faults.Clear("")
	require.NoError(t, err)
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)
}

func TestFaultNodeCertExpired(t *testing.T) {
	t.Parallel()

	for _, vmid := range []int{101, 102} {
		t.Run(fmt.Sprint(vmid), func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultNodeCertExpired, VMID: vmid}))

			c := l.cluster("k3s-dev")
			l.install(101, c.controlPlane())
			l.install(102, c.worker())
			l.waitStage(vmid, talos.StageRunning)

			_, err := c.admin(vmid).Version(t.Context())
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.Contains(t, err.Error(), "x509: certificate has expired or is not yet valid")

			_, err = l.faults.Clear("")
			require.NoError(t, err)
			c.waitAPI(vmid) // the clock is set, and the certificate issued again
		})
	}
}

func TestFaultClientCertExpired(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultClientCertExpired}))

	fresh := l.cluster("k3s-dev").as(role.Admin, 101)
	polltest.Until(t, func() bool {
		_, err := fresh.Version(t.Context())
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "remote error: tls: expired certificate")
	}, "a node that refuses a certificate may close before its alert is read")

	_, err := l.faults.Clear("")
	require.NoError(t, err)
	c.waitAPI(101)
}

func TestFaultTimeNotInSync(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultTimeNotInSync, Times: 1}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)

	err := c.admin(101).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	require.EqualError(t, err, "rpc error: code = FailedPrecondition desc = time is not in sync yet")
	c.bootstrap(101)
	c.waitHealthy(101, "etcd")
}

// TestFaultAPIServerLate: etcd is healthy and the boot is complete before the static pods run, and Kubernetes with them.
func TestFaultAPIServerLate(t *testing.T) {
	t.Parallel()

	pace := newHeldPace(2 * time.Minute)
	kube := &pods{nodes: map[int]talos.KubernetesNode{}}
	l := newLab(t, func(c *talos.Config) { c.Pace, c.Kubernetes = pace, kube })
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultAPIServerLate}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)
	c.waitHealthy(101, "etcd")

	pods := func() int {
		list, err := safe.StateListAll[*k8s.StaticPodStatus](t.Context(), c.admin(101).COSI)
		require.NoError(t, err)

		return list.Len()
	}
	require.Zero(t, pods())
	require.Empty(t, kube.node(101).EtcdCluster)
	pace.release()
	l.eventually(func() bool { return pods() == 3 }, "the static pods do not start")
	l.eventually(func() bool { return kube.node(101).EtcdCluster != "" }, "Kubernetes is not told")
}
