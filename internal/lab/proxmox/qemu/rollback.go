package qemu

import (
	"errors"
	"maps"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// rollBack answers POST …/snapshot/{snapname}/rollback (API2/Qemu.pm, rollback; AbstractConfig.pm, snapshot_rollback). What
// was saved of the memory is not: the machine starts as after a power cut.
func (s *Service) rollBack(c *api.Call) (any, error) {
	if c.Params.Bool("start", false) {
		if err := s.permissions.CheckVM(c.Identity, c.VMID, "", false, "VM.PowerMgmt"); err != nil {
			return nil, err
		}
	}

	name := c.Params.Get("snapname")

	return s.forkOn(c, "qmrollback", func(w *task.Worker) error {
		running, err := s.prepareRollback(c, name)
		if err != nil {
			return err
		}

		if running {
			if err := s.cutPower(w, c.VMID); err != nil {
				return err
			}
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		memory := false
		if err := s.onVM(c, func(m *vm) (err error) { memory, err = s.goBack(m, name); return err }); err != nil {
			return err
		}

		if memory || c.Params.Bool("start", false) {
			return s.startVM(w, c.VMID, c.Node)
		}

		return nil
	})
}

func (s *Service) prepareRollback(c *api.Call, name string) (running bool, err error) {
	err = s.onVM(c, func(m *vm) error {
		if m.Config.Template() {
			return errors.New("you can't rollback if vm is a template")
		}

		taken, err := m.snapshot(name)
		if err != nil {
			return err
		}

		err = s.eachVolume(m.Node, taken.Config, func(v storage.Volume) error {
			return s.storages.CheckRollback(m.Node, v.ID, name)
		})
		if err != nil {
			return err
		}

		if err := s.checkLock(m); err != nil {
			return err
		}

		running = m.Running
		m.Config.Set("lock", "rollback")

		return nil
	})
	return running, err
}

// goBack makes the machine what it was, but for its description, its unused volumes and its generation, which is new.
func (s *Service) goBack(m *vm, name string) (memory bool, err error) {
	taken, err := m.snapshot(name)
	if err != nil {
		return false, err
	}

	disks, err := s.disksOf(m.Node, taken.Config)
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

// dropSnapshot answers DELETE …/snapshot/{snapname} (API2/Qemu.pm, delsnapshot; AbstractConfig.pm, snapshot_delete).
func (s *Service) dropSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")

	return s.forkOn(c, "qmdelsnapshot", func(w *task.Worker) error {
		err := s.onVM(c, func(m *vm) error {
			if _, err := m.snapshot(name); err != nil {
				return err
			}

			if m.Config.Template() {
				return errors.New("you can't delete a snapshot if vm is a template")
			}

			return s.checkLock(m)
		})
		if err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		return s.onVM(c, func(m *vm) error { return s.forgetSnapshot(m, name) })
	})
}

func (s *Service) forgetSnapshot(m *vm, name string) error {
	taken, err := m.snapshot(name)
	if err != nil {
		return err
	}

	disks, err := s.disksOf(m.Node, taken.Config)
	if err != nil {
		return err
	}

	err = s.eachVolume(m.Node, taken.Config, func(v storage.Volume) error {
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
