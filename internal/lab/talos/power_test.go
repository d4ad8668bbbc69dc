package talos_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestPowerCycle: what is on the disk stays, what is in memory does not.
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

// TestRecreatedMachineIsEmpty: the contents of a disk go with the VM, even when another gets its name.
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

// TestShutdown is by the power button or by the API; the host hears of both.
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

// TestResetFollowedByEvents is what the provider does when a configuration is destroyed: watch the events, reset, wait
// for the task that stops all services.
func TestResetFollowedByEvents(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	admin := c.admin(101)
	ctx := client.WithNode(t.Context(), l.address(101).String())

	events := make(chan client.EventResult)
	require.NoError(t, admin.EventsWatchV2(ctx, events, client.WithTailEvents(0)))

	answer, err := admin.ResetGenericWithResponse(ctx, &machine.ResetRequest{
		Graceful: false, Reboot: true,
		SystemPartitionsToWipe: []*machine.ResetPartitionSpec{{Label: "STATE", Wipe: true}, {Label: "EPHEMERAL", Wipe: true}},
	})
	require.NoError(t, err)

	actor := answer.GetMessages()[0].GetActorId()
	require.NotEmpty(t, actor)

	require.Equal(t, []string{
		"stopAllPods", "stopDBus", "sendResetSignal", "stopServicesForUpgrade", "unmountPodMounts", "unmountSystemDiskBindMounts",
		"unmountEphemeralPartition", "teardownVolumeLifecycle", "kexecPrepare", "stopAllServices",
	}, tasksUntil(t, events, actor, "stopAllServices"))

	// the provider's check after a reset with reboot: the insecure API answers
	l.eventually(func() bool {
		_, err := l.insecure(101).Disks(t.Context())

		return err == nil
	}, "the machine does not come to that")

	node := l.node(101)
	require.Equal(t, talos.StageMaintenance, node.Stage)
	require.Empty(t, node.Cluster)
	require.False(t, node.Bootstrapped)
	require.Equal(t, "v1.12.4", node.Release.Version, "Talos itself stays on the disk")

	// and the node can be configured again, without another installation
	l.apply(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)
	require.False(t, l.log.has("install", "x"))
}

// tasksUntil are the tasks that begin in the name of an actor, up to and with the last.
func tasksUntil(t *testing.T, events <-chan client.EventResult, actor, last string) []string {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	var tasks []string

	for {
		select {
		case <-ctx.Done():
			t.Fatalf("no task %s after %v", last, tasks)
		case result := <-events:
			require.NoError(t, result.Error)

			task, ok := result.Event.Payload.(*machine.TaskEvent)
			if !ok || task.GetAction() != machine.TaskEvent_START || result.Event.ActorID != actor {
				continue
			}

			if tasks = append(tasks, task.GetTask()); task.GetTask() == last {
				return tasks
			}
		}
	}
}

// TestResetWithoutReboot wipes everything and switches off.
func TestResetWithoutReboot(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	require.NoError(t, c.admin(102).Reset(t.Context(), true, false))
	l.waitStage(102, talos.StageOff)
	l.eventually(func() bool { return len(l.poweredOff()) == 1 }, "the machine does not come to that")
	require.Equal(t, talos.Release{}, l.node(102).Release)
}

// TestResetRefuses what Talos refuses, without a code as there.
func TestResetRefuses(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	for text, request := range map[string]*machine.ResetRequest{
		"reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter": {
			Mode: machine.ResetRequest_SYSTEM_DISK, UserDisksToWipe: []string{"/dev/sdb"},
		},
		"reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter": {
			Mode: machine.ResetRequest_USER_DISKS, SystemPartitionsToWipe: []*machine.ResetPartitionSpec{{Label: "STATE", Wipe: true}},
		},
		"reset user disk failed: device /dev/sdb wasn't found":       {UserDisksToWipe: []string{"/dev/sdb"}},
		"reset user disk failed: device /dev/sda is the system disk": {UserDisksToWipe: []string{"/dev/sda"}},
		"failed to get volume status with label \"SWAP\": resource VolumeStatuses.block.talos.dev(runtime/SWAP@undefined) doesn't exist": {
			SystemPartitionsToWipe: []*machine.ResetPartitionSpec{{Label: "SWAP", Wipe: true}},
		},
	} {
		err := c.admin(101).ResetGeneric(t.Context(), request)
		require.Equal(t, codes.Unknown, status.Code(err))
		require.Equal(t, text, status.Convert(err).Message())
	}
}

// TestFleetIsResumed: after a restart of the lab's process every machine is where it was, in the same boot.
func TestFleetIsResumed(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)
	l.powerOn(103)
	l.waitStage(103, talos.StageMaintenance)
	l.powerOn(104)
	require.NoError(t, l.fleet.PowerOff(104))

	before, boot := l.fleet.Nodes(), c.bootID(101)
	members := c.members(101)

	l.reopen()

	l.eventually(func() bool { return sameNodes(before, l.fleet.Nodes()) }, "the nodes are not %v", before)
	c.waitAPI(101)
	require.Equal(t, boot, c.bootID(101))
	c.waitHealthy(101, "etcd")
	require.Equal(t, members, c.members(101))
}

func sameNodes(a, b []talos.Node) bool {
	if len(a) != len(b) {
		return false
	}

	for i := range a {
		if a[i].VMID != b[i].VMID || a[i].Stage != b[i].Stage || a[i].Cluster != b[i].Cluster || a[i].Bootstrapped != b[i].Bootstrapped {
			return false
		}
	}

	return true
}

// TestStateIsPrivate: it holds the secrets of clusters.
func TestStateIsPrivate(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	l.controlPlaneUp("k3s-dev")

	files := 0

	require.NoError(t, filepath.WalkDir(l.config.StateDir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)

		info, err := entry.Info()
		require.NoError(t, err)

		if !entry.IsDir() {
			files++
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
		}

		return nil
	}))
	require.Equal(t, 3, files, "a machine, a disk and the etcd members")
}

// TestLogHasNoSecrets: the log tells who called what, and nothing of what was said.
func TestLogHasNoSecrets(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	_, err := c.admin(101).Kubeconfig(t.Context())
	require.NoError(t, err)
	require.Contains(t, l.log.String(), `"method":"/machine.MachineService/Kubeconfig","roles":["os:admin"],"code":"OK"`)

	for _, secret := range []string{c.bundle.TrustdInfo.Token, c.bundle.Cluster.Secret, c.bundle.Secrets.BootstrapToken, "PRIVATE KEY"} {
		require.NotContains(t, l.log.String(), secret)
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
