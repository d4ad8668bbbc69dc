package talos_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestPowerCycle: data on the disk stays, data in memory does not.
func TestPowerCycle(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	before := c.bootID(101)

	require.NoError(t, l.fleet.PowerOff(101))
	require.NoError(t, l.fleet.PowerOff(101), "twice is once")
	require.Equal(t, talos.StageOff, l.node(101).Stage)

	_, err := c.admin(101).Version(t.Context())
	require.Equal(t, codes.Unavailable, status.Code(err))

	l.powerOn(101)
	require.EqualError(t, l.fleet.PowerOn(t.Context(), l.hardware(101)), "switch on machine 101: the machine is switched on already")
	l.waitStage(101, talos.StageRunning)
	c.waitAPI(101)
	require.NotEqual(t, before, c.bootID(101))
	c.waitHealthy(101, "etcd")
	require.Empty(t, l.poweredOff())
}

// TestRecreatedMachineIsEmpty: the contents of a disk are deleted with the VM, even if another VM gets its name.
func TestRecreatedMachineIsEmpty(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.controlPlaneUp("k3s-dev")

	require.NoError(t, l.fleet.Destroy(101))
	require.Empty(t, l.fleet.Nodes())
	require.NoError(t, l.fleet.Destroy(101), "twice is once")

	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	files, err := os.ReadDir(filepath.Join(l.config.StateDir, "disks"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestShutdown uses the power button and the API. The host is notified of both.
func TestShutdown(t *testing.T) {
	t.Parallel()

	for name, shutdown := range map[string]func(*testing.T, *cluster) error{
		"power button": func(t *testing.T, c *cluster) error { return c.lab.fleet.Shutdown(t.Context(), 101) },
		"API":          func(t *testing.T, c *cluster) error { return c.admin(101).Shutdown(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t)
			c := l.controlPlaneUp("k3s-dev")

			require.NoError(t, shutdown(t, c))
			l.waitStage(101, talos.StageOff)
			l.eventually(func() bool { return len(l.poweredOff()) == 1 }, "the machine does not come to that")

			l.powerOn(101)
			l.waitStage(101, talos.StageRunning)
		})
	}
}

// TestNothingIsLeftRunning after machines were switched off in every stage.
func TestNothingIsLeftRunning(t *testing.T) { //nolint:paralleltest // it counts what runs in the whole process

	before := runtime.NumGoroutine()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)
	l.powerOn(103)
	l.waitStage(103, talos.StageMaintenance)

	for _, vmid := range []int{101, 102, 103} {
		require.NoError(t, l.fleet.PowerOff(vmid))
	}

	l.closeClients()
	require.NoError(t, l.fleet.Close())
	l.eventually(func() bool { return runtime.NumGoroutine() <= before }, "more than %d goroutines are left", before)
}
