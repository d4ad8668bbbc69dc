package talos_test

import (
	"context"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

func TestFaultStaysInMaintenance(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultStaysInMaintenance, VMID: 101}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())

	l.eventually(func() bool { return l.log.has("leave-maintenance", "hangs, as a fault wants it") }, "the fault does not strike")
	require.Equal(t, talos.StageMaintenance, l.node(101).Stage)

	_, err := l.insecure(101).Disks(t.Context())
	require.NoError(t, err, "the maintenance API still answers")

	err = l.insecure(101).Bootstrap(t.Context(), &machine.BootstrapRequest{})
	require.Equal(t, codes.Unimplemented, status.Code(err))

	// switching it off and on is the way out
	l.faults.Clear(talos.FaultStaysInMaintenance, 101)
	require.NoError(t, l.fleet.PowerOff(101))
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
}

// TestFaultBootstrapAnswerLost: the caller hears nothing of a bootstrap that happened, and cannot repeat it.
func TestFaultBootstrapAnswerLost(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultBootstrapAnswerLost, Times: 1}))

	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	l.eventually(func() bool { state, _ := c.serviceState(101, "cri"); return state == "Running" }, "no container runtime")

	// as the provider calls it, through the node to itself
	ctx := client.WithNode(t.Context(), l.address(101).String())

	err := c.admin(101).Bootstrap(ctx, &machine.BootstrapRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Empty(t, l.faults.Active(), "once is used up")

	err = c.admin(101).Bootstrap(ctx, &machine.BootstrapRequest{})
	require.Equal(t, codes.AlreadyExists, status.Code(err), "%v", err)
	c.waitHealthy(101, "etcd")
	require.True(t, l.node(101).Bootstrapped)
}

func TestFaultApplyHangs(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultApplyHangs}))
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	// as the provider calls it, with the node's name
	ctx = client.WithNode(ctx, l.address(101).String())

	_, err := l.insecure(101).ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: l.cluster("k3s-dev").controlPlane()})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.Equal(t, talos.StageMaintenance, l.node(101).Stage)
}

func TestFaultCertificateWithheld(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultCertificateWithheld, VMID: 101}))
	l.install(101, l.cluster("k3s-dev").controlPlane())
	l.eventually(func() bool { return l.log.has("certificate", "hangs, as a fault wants it") }, "the fault does not strike")
	require.Equal(t, talos.StageBooting, l.node(101).Stage)
}

func TestFaultAPIUnavailable(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultAPIUnavailable, VMID: 101, Times: 2}))

	for range 2 {
		_, err := c.admin(101).Version(t.Context())
		require.EqualError(t, err, "rpc error: code = Unavailable desc = the node does not answer")
	}

	_, err := c.admin(101).Version(t.Context())
	require.NoError(t, err)
}

// TestFaultOnAWorker strikes although the call names the node, since a worker does not forward.
func TestFaultOnAWorker(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)
	require.NoError(t, l.faults.Set(talos.Fault{Name: talos.FaultAPIUnavailable, VMID: 102, Times: 1}))

	_, err := c.admin(102).Version(client.WithNode(t.Context(), l.address(102).String()))
	require.EqualError(t, err, "rpc error: code = Unavailable desc = the node does not answer")
}

func TestUnknownFault(t *testing.T) {
	t.Parallel()

	err := talos.NewFaultSet().Set(talos.Fault{Name: "meteorite"})
	require.ErrorIs(t, err, talos.ErrUnknownFault)
	require.EqualError(t, err, `no such fault: "meteorite"`)
}

// TestFaultsAreDescribed: what can be switched on can be read about, under names that are used once.
func TestFaultsAreDescribed(t *testing.T) {
	t.Parallel()

	faults := talos.NewFaultSet()
	seen := map[talos.FaultName]bool{}

	for _, description := range talos.FaultDescriptions() {
		require.NotEmpty(t, description.Description)
		require.False(t, seen[description.Name], "%s twice", description.Name)
		require.NoError(t, faults.Set(talos.Fault{Name: description.Name}))

		seen[description.Name] = true
	}

	require.Len(t, faults.Active(), len(seen))
	faults.Clear(talos.FaultApplyHangs, 0)
	require.Len(t, faults.Active(), len(seen)-1)
}
