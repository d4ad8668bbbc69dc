package talos_test

import (
	"context"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestResetFollowedByEvents does what the provider does when a configuration is destroyed: watch the events, reset, wait for
// the task that stops all services.
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

	l.waitStage(101, talos.StageMaintenance) // the API answers a moment before
	node := l.node(101)
	require.Empty(t, node.Cluster)
	require.False(t, node.Bootstrapped)
	require.Equal(t, "v1.12.4", node.Release.Version, "Talos itself stays on the disk")

	// the node can be configured again, without another installation
	l.apply(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)
	require.False(t, l.log.has("install", "x"))
}

// tasksUntil returns the tasks of an actor that start, up to and including the last.
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

// TestResetRefuses checks Talos' refusals, which have no code either.
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
