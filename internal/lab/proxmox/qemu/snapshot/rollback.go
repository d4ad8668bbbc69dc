package snapshot

import (
	"errors"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// rollBack handles POST …/snapshot/{snapname}/rollback (API2/Qemu.pm, rollback; AbstractConfig.pm, snapshot_rollback). A
// saved memory state is not restored: the machine starts as after a power cut.
func (s *Service) rollBack(c *api.Call) (any, error) {
	if c.Params.Bool("start", false) {
		if err := s.permissions.CheckVM(c.Identity, c.VMID, "", false, "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}

	name := c.Params.Get("snapname")

	return s.fork(c, "qmrollback", func(w *task.Worker) error {
		if err := s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.prepareRollback(w, c, name) }); err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		if err := s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.finishRollback(w, c, name) }); err != nil {
			return err
		}

		// Another task, e.g. of the HA manager, may have started it since the lock file was released.
		if !c.Params.Bool("start", false) || s.processes.Running(c.VMID) {
			return nil
		}

		_, err := s.power.Start(&api.Call{Ctx: w.Ctx, Identity: c.Identity, Node: c.Node, VMID: c.VMID})

		return err
	})
}

// prepareRollback checks whether a rollback is possible, cuts the power of the machine and locks its configuration. The
// caller holds the lock file.
func (s *Service) prepareRollback(w *task.Worker, c *api.Call, name string) error {
	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error { return s.checkRollback(m, name) })
	if err != nil {
		return err
	}

	if s.processes.Running(c.VMID) {
		if err := s.power.Cut(w, c.VMID); err != nil {
			return err
		}
	}

	return s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		m.Config.Set("lock", "rollback")
		s.env.Changed()

		return nil
	})
}

func (s *Service) checkRollback(m *config.VM, name string) error {
	if m.Config.Template() {
		return errors.New("you can't rollback if vm is a template")
	}

	taken, err := m.Snapshot(name)
	if err != nil {
		return err
	}

	err = s.disks.EachVolume(m.Node, taken.Config, func(v storage.Volume) error {
		return s.storages.CheckRollback(m.Node, v.ID, name)
	})
	if err != nil {
		return err
	}

	return m.CheckLock(s.env.Now())
}

// finishRollback restores the former configuration, and starts a machine whose memory was saved, before another task gets the
// lock file, which the caller holds.
func (s *Service) finishRollback(w *task.Worker, c *api.Call, name string) error {
	memory := false

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) (err error) {
		memory, err = s.goBack(m, name)
		return err
	})
	if err != nil || !memory {
		return err
	}

	return s.power.Resume(w, c.Node, c.VMID)
}

// goBack restores the machine's former configuration, except for its description and unused volumes. It gets a new generation
// ID.
func (s *Service) goBack(m *config.VM, name string) (memory bool, err error) {
	taken, err := m.Snapshot(name)
	if err != nil {
		return false, err
	}

	disks, err := s.disks.Identities(m.Node, taken.Config)
	if err != nil {
		return false, err
	}

	former := m.Config.Clone()
	m.Config = taken.Config.Clone()

	for _, key := range former.Keys() {
		if key != "lock" && notInSnapshots(key) {
			m.Config.Set(key, former.Get(key))
		}
	}

	generation, err := s.env.Random.UUID(m.ID, "vmgenid")
	if err != nil {
		return false, err
	}

	m.Config.Set("vmgenid", generation)
	m.Config.Set("parent", name)
	s.machines.RollbackDisks(m.ID, disks, name)
	s.env.Changed()

	return taken.State != "", nil
}

// dropSnapshot handles DELETE …/snapshot/{snapname} (API2/Qemu.pm, delsnapshot; AbstractConfig.pm, snapshot_delete).
func (s *Service) dropSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")

	return s.fork(c, "qmdelsnapshot", func(w *task.Worker) error {
		err := s.change(w, c, func(m *config.VM) error {
			if _, err := m.Snapshot(name); err != nil {
				return err
			}

			if m.Config.Template() {
				return errors.New("you can't delete a snapshot if vm is a template")
			}

			if err := m.CheckLock(s.env.Now()); err != nil {
				return err
			}

			m.Config.Set("lock", "snapshot-delete")
			s.env.Changed()

			return nil
		})
		if err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		return s.change(w, c, func(m *config.VM) error { return s.forgetSnapshot(m, name) })
	})
}

func (s *Service) forgetSnapshot(m *config.VM, name string) error {
	taken, err := m.Snapshot(name)
	if err != nil {
		return err
	}

	disks, err := s.disks.Identities(m.Node, taken.Config)
	if err != nil {
		return err
	}

	err = s.disks.EachVolume(m.Node, taken.Config, func(v storage.Volume) error {
		return s.storages.DropSnapshot(m.Node, v.ID, name)
	})
	if err != nil {
		return err
	}

	if taken.State != "" {
		s.storages.Free(m.Node, taken.State)
	}

	s.machines.DropDiskSnapshots(m.ID, disks, name)
	delete(m.Snapshots, name)
	m.Config.Delete("lock")

	parents := []*vmconfig.Config{m.Config}
	for _, other := range slices.Sorted(maps.Keys(m.Snapshots)) {
		parents = append(parents, m.Snapshots[other].Config)
	}

	for _, conf := range parents {
		switch parent := taken.Config.Get("parent"); {
		case conf.Get("parent") != name:
		case parent == "":
			conf.Delete("parent")
		default:
			conf.Set("parent", parent)
		}
	}

	s.env.Changed()

	return nil
}
