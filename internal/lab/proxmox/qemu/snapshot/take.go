// Package snapshot creates, rolls back and deletes snapshots of VMs (pve-guest-common AbstractConfig.pm, qemu-server
// QemuConfig.pm). Snapshots are part of the configurations. Each step of a task runs under the lock file of the
// configuration. Between two steps the configuration has a lock setting.
package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// notInSnapshots reports whether a snapshot leaves out a setting (pve-guest-common AbstractConfig.pm,
// __snapshot_copy_config).
func notInSnapshots(key string) bool {
	return key == "lock" || key == "description" || settings.IsUnused(key)
}

// takeSnapshot handles POST …/snapshot (API2/Qemu.pm, snapshot; AbstractConfig.pm, snapshot_create).
func (s *Service) takeSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")
	if name == "current" || strings.EqualFold(name, "pending") {
		return nil, fmt.Errorf("unable to use snapshot name '%s' (reserved name)", strings.ToLower(name))
	}

	return s.fork(c, "qmsnapshot", func(w *task.Worker) error {
		if err := s.change(w, c, func(m *config.VM) error { return s.prepareSnapshot(c, m, name) }); err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		return s.change(w, c, func(m *config.VM) error { return s.commitSnapshot(m, name) })
	})
}

// prepareSnapshot checks whether a snapshot is possible, and locks the configuration.
func (s *Service) prepareSnapshot(c *api.Call, m *config.VM, name string) error {
	if m.Config.Template() {
		return errors.New("you can't take a snapshot if it's a template")
	}

	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	if _, taken := m.Snapshots[name]; taken {
		return fmt.Errorf("snapshot name '%s' already used", name)
	}

	if err := s.checkSnapshots(m); err != nil {
		return err
	}

	kept := &config.Snapshot{Config: vmconfig.New(), Description: c.Params.Get("description"), Taken: s.env.Now().Unix()}

	for _, key := range m.Config.Keys() {
		if !notInSnapshots(key) {
			kept.Config.Set(key, m.Config.Get(key))
		}
	}

	if c.Params.Bool("vmstate", false) && s.processes.Running(m.ID) {
		state, err := s.saveMemory(m, name)
		if err != nil {
			return err
		}

		kept.State = state
	}

	if m.Snapshots == nil {
		m.Snapshots = map[string]*config.Snapshot{}
	}

	m.Snapshots[name] = kept
	m.Config.Set("lock", "snapshot")
	s.env.Changed()

	return nil
}

// checkSnapshots returns an error if the storage of a volume does not support snapshots.
func (s *Service) checkSnapshots(m *config.VM) error {
	able, err := s.canSnapshot(m)
	if err == nil && !able {
		err = errors.New("snapshot feature is not available")
	}

	return err
}

// canSnapshot reports whether the storages of all disks support snapshots.
func (s *Service) canSnapshot(m *config.VM) (bool, error) {
	able := true

	err := s.disks.EachVolume(m.Node, m.Config, func(v storage.Volume) error {
		can, err := s.storages.CanSnapshot(m.Node, v.ID)
		able = able && can

		return err
	})

	return able, err
}

// driverStateMiB is what Proxmox VE reserves for the state of devices (QemuConfig.pm, __snapshot_save_vmstate).
const driverStateMiB = 500

// saveMemory allocates the volume for a machine's memory, on the storage of its first disk.
func (s *Service) saveMemory(m *config.VM, name string) (string, error) {
	drives, err := s.settings.Drives(m.Config)
	if err != nil {
		return "", err
	}

	at := slices.IndexFunc(drives, func(d *vmconfig.Drive) bool { return !d.CDROM() && d.Storage() != "" })
	if at < 0 {
		return "", errors.New("no storage for the state of the machine")
	}

	v, err := s.storages.Allocate(drives[at].Storage(), storage.Request{
		Node: m.Node, VMID: m.ID, Name: fmt.Sprintf("vm-%d-state-%s", m.ID, name), Format: "raw",
		Bytes: uint64(2*s.processes.MemoryOf(m.ID)+driverStateMiB) << 20, Created: s.env.Now().Unix(),
	})
	if err != nil {
		return "", err
	}

	return v.ID, nil
}

// commitSnapshot marks the disks and makes the snapshot the parent of the current state.
func (s *Service) commitSnapshot(m *config.VM, name string) error {
	disks, err := s.disks.Identities(m.Node, m.Snapshots[name].Config)
	if err != nil {
		return err
	}

	err = s.disks.EachVolume(m.Node, m.Config, func(v storage.Volume) error {
		return s.storages.Snapshot(m.Node, v.ID, name)
	})
	if err != nil {
		return err
	}

	s.machines.SnapshotDisks(m.ID, disks, name)
	m.Config.Delete("lock")
	m.Config.Set("parent", name)
	s.env.Changed()

	return nil
}
