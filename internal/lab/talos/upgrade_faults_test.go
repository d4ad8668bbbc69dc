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

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// upgrade orders an upgrade and returns the ID of its actor.
func (c *cluster) upgrade(vmid int, options ...client.UpgradeOption) string {
	c.lab.t.Helper()

	answer, err := c.admin(vmid).UpgradeWithOptions(c.lab.t.Context(), append(options, client.WithUpgradeImage(newerImage))...)
	require.NoError(c.lab.t, err)

	return answer.GetMessages()[0].GetActorId()
}

// faulty returns a cluster of one control plane, at which a fault occurs once.
func faulty(t *testing.T, name string, changes ...func(*talos.Config)) (*lab, *cluster) {
	t.Helper()

	l := newLab(t, append([]func(*talos.Config){withExtensions}, changes...)...)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")
	require.NoError(t, l.faults.Set(fault.Fault{Name: name, Times: 1}))

	return l, c
}

// follow returns the texts of the events of upgrades until the stream ends. The channel has one value.
func (c *cluster) follow(vmid int) <-chan []string {
	c.lab.t.Helper()

	stream, err := c.admin(vmid).Events(c.lab.t.Context())
	require.NoError(c.lab.t, err)

	_, err = stream.Recv() // the stream has started
	require.NoError(c.lab.t, err)

	followed := make(chan []string, 1)

	go func() {
		var texts []string

		for {
			message, err := stream.Recv()
			if err != nil {
				followed <- texts

				return
			}

			if event, err := client.UnmarshalEvent(message); err == nil && event.ActorID != "" {
				texts = append(texts, textOf(event))
			}
		}
	}()

	return followed
}

func textOf(event *client.Event) string {
	switch payload := event.Payload.(type) {
	case *machine.SequenceEvent:
		return payload.GetSequence() + " " + payload.GetAction().String() + " " + payload.GetError().GetMessage()
	case *machine.PhaseEvent:
		return payload.GetPhase() + " " + payload.GetAction().String()
	case *machine.TaskEvent:
		return payload.GetTask() + " " + payload.GetAction().String()
	default:
		return string(payload.ProtoReflect().Descriptor().Name())
	}
}

// phaseTexts are the events of a phase with one task.
func phaseTexts(phase, task string) []string {
	return []string{phase + " START", task + " START", task + " STOP", phase + " STOP"}
}

// TestUpgradeEvents are those of Talos, up to the phase that also stops the API.
func TestUpgradeEvents(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		stage bool
		want  []string
	}{
		"at once": {want: joined([]string{"upgrade START "},
			phaseTexts("drain", "cordonAndDrainNode"), phaseTexts("cleanup", "stopAllPods"), phaseTexts("dbus", "stopDBus"),
			phaseTexts("stopServices", "stopServicesForUpgrade"), phaseTexts("unmount", "unmountPodMounts"),
			phaseTexts("unmountBind", "unmountSystemDiskBindMounts"), phaseTexts("unmountSystem", "unmountEphemeralPartition"),
			phaseTexts("volumeFinalize", "teardownVolumeLifecycle"), phaseTexts("upgrade", "upgrade"), phaseTexts("meta", "reloadMeta"),
			phaseTexts("kexec", "kexecPrepare"), []string{"stopEverything START", "stopAllServices START"})},
		"staged": {stage: true, want: joined([]string{"stageUpgrade START "},
			phaseTexts("cleanup", "stopAllPods"), phaseTexts("dbus", "stopDBus"),
			phaseTexts("stopServices", "stopServicesForUpgrade"), phaseTexts("umount", "unmountPodMounts"),
			phaseTexts("unmountBind", "unmountSystemDiskBindMounts"), phaseTexts("unmountSystem", "unmountEphemeralPartition"),
			phaseTexts("volumeFinalize", "teardownVolumeLifecycle"), phaseTexts("kexec", "kexecPrepare"),
			[]string{"stopEverything START", "stopAllServices START"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, withExtensions)
			c := l.controlPlaneUp("k3s-dev")
			c.waitHealthy(101, "etcd")

			followed := c.follow(101)
			c.upgrade(101, client.WithUpgradeStage(test.stage))
			require.Equal(t, test.want, <-followed)
		})
	}
}

func joined(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}

	return all
}

// TestFaultUpgradeFails: the installer's exit code is in the events, its cause is not, and the node reboots as it was.
func TestFaultUpgradeFails(t *testing.T) {
	t.Parallel()

	_, c := faulty(t, talos.FaultUpgradeFails)

	boot, followed := c.bootID(101), c.follow(101)
	c.upgrade(101)

	texts := <-followed
	require.Equal(t, []string{
		"upgrade START", "upgrade START", "upgrade STOP", "upgrade STOP", "upgrade STOP ",
		`upgrade NOOP sequence failed: error running phase 9 in upgrade sequence: task 1/1: failed, task "upgrade" failed: exit code 1`,
	}, texts[len(texts)-6:])

	c.waitNewBoot(101, boot)
	version, _ := c.runningVersion(101)
	require.Equal(t, "v1.12.4", version)
	require.EqualError(t, c.admin(101).Rollback(t.Context()), `rpc error: code = Unknown desc = cannot rollback to "", label does not exist`)
}

// TestUpgradeSkipsAMinor: the installer refuses a node that is too old, and reports only that it failed.
func TestUpgradeSkipsAMinor(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	boot := c.bootID(101)
	_, err := c.admin(101).UpgradeWithOptions(t.Context(), client.WithUpgradeImage("ghcr.io/siderolabs/installer:v1.15.0"))
	require.NoError(t, err)
	c.waitNewBoot(101, boot)
	require.True(t, l.log.has("upgrade", "upgrades to version 1.15.0 are not supported"))

	version, _ := c.runningVersion(101)
	require.Equal(t, "v1.12.4", version)
}

// TestFaultUpgradeReverted: the node comes back, and its release is the one before.
func TestFaultUpgradeReverted(t *testing.T) {
	t.Parallel()

	l, c := faulty(t, talos.FaultUpgradeReverted)

	c.upgrade(101)
	l.eventually(func() bool { return l.log.has("failure", "failed to load the machine configuration") }, "the first boot does not fail")
	c.waitAPI(101)
	c.waitHealthy(101, "etcd")

	version, _ := c.runningVersion(101)
	require.Equal(t, "v1.12.4", version)
	require.NoError(t, c.admin(101).Rollback(t.Context()), "the newer release is in the other slot now")
}

// TestFaultUpgradeHangs: a power cycle ends it, and the node has the release that it had.
func TestFaultUpgradeHangs(t *testing.T) {
	t.Parallel()

	l, c := faulty(t, talos.FaultUpgradeHangs)

	boot := c.bootID(101)
	c.upgrade(101)
	l.eventually(func() bool { return l.log.has("unmount", "hangs, as a fault wants it") }, "the fault does not occur")
	require.Equal(t, boot, c.bootID(101), "the API answers as long as it hangs")

	require.NoError(t, l.fleet.PowerOff(101))
	l.powerOn(101)
	c.waitNewBoot(101, boot)

	version, _ := c.runningVersion(101)
	require.Equal(t, "v1.12.4", version)
}

func TestFaultEtcdLocked(t *testing.T) {
	t.Parallel()

	_, c := faulty(t, talos.FaultEtcdLocked)

	_, err := c.admin(101).UpgradeWithOptions(t.Context(), client.WithUpgradeImage(newerImage))
	require.EqualError(t, err,
		"rpc error: code = Unknown desc = failed to acquire upgrade mutex: error trying to lock etcd upgrade mutex: mutex: Locked by another session")

	boot := c.bootID(101)
	c.upgrade(101)
	c.waitNewBoot(101, boot)
}

// TestFaultPullSlow: the call is answered when the image is there.
func TestFaultPullSlow(t *testing.T) {
	t.Parallel()

	pace := newHeldPace(4 * time.Minute)
	l, c := faulty(t, talos.FaultPullSlow, func(c *talos.Config) { c.Pace = pace })
	boot := c.bootID(101)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	ended := make(chan error, 1)
	go func() {
		_, err := c.admin(101).UpgradeWithOptions(ctx, client.WithUpgradeImage(newerImage))
		ended <- err
	}()
	l.eventually(func() bool { return l.faults.List()[0].Occurred > 0 }, "nothing is pulled")
	cancel()

	err := <-ended
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
	require.Equal(t, boot, c.bootID(101), "a call without an answer upgrades nothing")

	pace.release()
	c.upgrade(101)
	c.waitNewBoot(101, boot)
}

// TestFaultEventsLost: the stream stays open and is silent; the rest of the API answers.
func TestFaultEventsLost(t *testing.T) {
	t.Parallel()

	_, c := faulty(t, talos.FaultEventsLost)

	opened, cancel := context.WithCancel(t.Context())
	defer cancel()

	stream, err := c.admin(101).Events(opened)
	require.NoError(t, err)
	time.AfterFunc(50*time.Millisecond, cancel)

	_, err = stream.Recv()
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)

	_, err = c.admin(101).Version(t.Context())
	require.NoError(t, err)
}
