package talos

import (
	"context"
	"errors"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// phaseKexec is the phase in which Talos loads the kernel of the next boot.
const phaseKexec = "kexec"

// phases returns the phases of Talos' sequencer (v1alpha1_sequencer.go). A phase without an effect on an emulated machine
// exists only for its events, with which clients follow a sequence.
func phases(c command) []phase {
	drain := phase{name: "drain", task: "cordonAndDrainNode"}
	cleanup := phase{name: "cleanup", task: "stopAllPods", work: stopKubelet}
	dbus := phase{name: "dbus", task: "stopDBus"}

	switch c.sequence {
	case sequenceReboot:
		if c.force {
			return []phase{{name: "reboot", task: "reboot"}}
		}

		return rebootPhases(cleanup, dbus)
	case sequenceStageUpgrade:
		return rebootPhases(cleanup, dbus)
	case sequenceShutdown:
		begin := []phase{{name: "storeShutdown", task: "storeShutdownEmergency"}}
		if !c.force {
			begin = append(begin, phase{name: drain.name, task: drain.task, work: cordonAndDrain})
		}

		return slices.Concat(begin, []phase{cleanup, dbus}, stopAll(false), []phase{{name: "shutdown", task: "shutdown"}})
	case sequenceReset:
		return resetPhases(c, drain, dbus)
	case sequenceUpgrade:
		return upgradePhases(phase{name: drain.name, task: drain.task, work: cordonAndDrain}, cleanup, dbus)
	case sequenceInstall: // has no command: see system.install
		return nil
	default:
		return nil
	}
}

func rebootPhases(cleanup, dbus phase) []phase {
	return slices.Concat([]phase{cleanup, dbus}, stopAll(true), []phase{{name: "reboot", task: "reboot"}})
}

func upgradePhases(drain, cleanup, dbus phase) []phase {
	unmount := phase{name: "unmount", task: "unmountPodMounts", work: unmountPods}

	return slices.Concat([]phase{drain, cleanup, dbus}, stopServices(unmount), []phase{
		{name: "upgrade", task: "upgrade", work: writeUpgrade},
		{name: "meta", task: "reloadMeta"},
		{name: phaseKexec, task: "kexecPrepare"},
		{name: "stopEverything", task: "stopAllServices", work: stopEverything},
		{name: "reboot", task: "reboot"},
	})
}

func resetPhases(c command, drain, dbus phase) []phase {
	var list []phase

	if c.reset.graceful {
		list = append(list, drain, phase{name: "cleanup", task: "removeAllPods", work: stopKubelet})
	} else {
		list = append(list, phase{name: "cleanup", task: "stopAllPods", work: stopKubelet})
	}

	list = append(list, dbus)

	if c.reset.graceful && c.reset.controlPlane {
		list = append(list, phase{name: "leave", task: "leaveEtcd", work: func(ctx context.Context, s *system, _ command) error {
			return s.leaveEtcd(ctx)
		}})
	}

	list = append(list, phase{name: "preReset", task: "sendResetSignal", work: withdrawAffiliate})
	list = slices.Concat(list, stopAll(len(c.reset.partitions) > 0), []phase{
		{name: "forceCleanup", task: "forceCleanup"},
		{name: "reset", task: "resetSystemDisk", work: wipe},
	})

	if c.reset.reboot {
		return append(list, phase{name: "reboot", task: "reboot"})
	}

	return append(list, phase{name: "shutdown", task: "shutdown"})
}

// stopServices stops everything that needs the disk. The sequences have different names for the phase that unmounts what pods
// have mounted.
func stopServices(unmount phase) []phase {
	return []phase{
		{name: "stopServices", task: "stopServicesForUpgrade", work: stopCRI},
		unmount,
		{name: "unmountBind", task: "unmountSystemDiskBindMounts"},
		{name: "unmountSystem", task: "unmountEphemeralPartition"},
		{name: "volumeFinalize", task: "teardownVolumeLifecycle"},
	}
}

func stopAll(kexec bool) []phase {
	list := stopServices(phase{name: "umount", task: "unmountPodMounts"})
	if kexec {
		list = append(list, phase{name: phaseKexec, task: "kexecPrepare"})
	}

	return append(list, phase{name: "stopEverything", task: "stopAllServices", work: stopEverything})
}

func stopKubelet(ctx context.Context, s *system, _ command) error {
	if err := s.vm.step(ctx, StepStop, s.fleet.config.Durations.Stop); err != nil {
		return err
	}

	return s.finish(kubelet)
}

func unmountPods(ctx context.Context, s *system, _ command) error {
	return s.vm.step(ctx, StepUnmount, 0)
}

func stopCRI(_ context.Context, s *system, _ command) error {
	s.leaveTrust()

	return errors.Join(s.stopEtcd(), s.finish("trustd", "cri"))
}

// stopEverything also stops the API: the last event for clients is the start of this phase.
func stopEverything(_ context.Context, s *system, _ command) error {
	s.events.End()

	return errors.Join(s.closeFront(grace), s.finish("apid", "auditd", "syslogd", "udevd", "containerd"))
}

// finish stops services that exist on this system.
func (s *system) finish(ids ...string) error {
	var errs []error

	for _, id := range ids {
		if _, known := s.services.State(id); known {
			errs = append(errs, s.services.Set(id, service.Finished, "Service finished successfully"))
		}
	}

	return errors.Join(errs...)
}

func withdrawAffiliate(_ context.Context, s *system, _ command) error {
	cfg := s.config()
	if cfg == nil {
		return nil
	}

	if key, ok := clusterKey(cfg); ok {
		s.fleet.discovery.Withdraw(key, s.nodeID())
	}

	return nil
}
