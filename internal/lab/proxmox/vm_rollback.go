package proxmox

import (
	"errors"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// rollBack answers POST …/snapshot/{snapname}/rollback (API2/Qemu.pm, rollback; AbstractConfig.pm, snapshot_rollback). What
// was saved of the memory is not: the machine starts as after a power cut.
func (s *Server) rollBack(c *call) (any, error) {
	if c.params.Bool("start", false) {
		s.mu.Lock()
		err := s.state.Access.CheckVM(c.identity, c.vmid, "", false, "VM.PowerMgmt")
		s.mu.Unlock()

		if err != nil {
			return nil, err
		}
	}

	name := c.params.Get("snapname")

	return s.forkOn(c, "qmrollback", func(w *worker) error {
		running, err := s.prepareRollback(c, name)
		if err != nil {
			return err
		}

		if running {
			if err := s.cutPower(w, c.vmid); err != nil {
				return err
			}
		}

		if err := s.wait(w.ctx, pace.VMResize); err != nil {
			return err
		}

		memory := false
		if err := s.onVM(c, func(m *vm) (err error) { memory, err = s.goBack(m, name); return err }); err != nil {
			return err
		}

		if memory || c.params.Bool("start", false) {
			return s.startVM(w, c.vmid, c.node)
		}

		return nil
	})
}

func (s *Server) prepareRollback(c *call, name string) (running bool, err error) {
	err = s.onVM(c, func(m *vm) error {
		if m.Config.Template() {
			return errors.New("you can't rollback if vm is a template")
		}

		taken, err := m.snapshot(name)
		if err != nil {
			return err
		}

		err = s.eachVolume(m.Node, taken.Config, func(st *storage.Storage, v *storage.Volume) error {
			return st.CheckRollback(m.Node, v.ID, name)
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
func (s *Server) goBack(m *vm, name string) (memory bool, err error) {
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

	generation, err := s.uuid(m.ID, "vmgenid")
	if err != nil {
		return false, err
	}

	m.Config.Set("vmgenid", generation)
	m.Config.Set("parent", name)
	s.config.Machines.RollbackDisks(m.ID, disks, name)
	s.changed()

	return taken.State != "", nil
}

// dropSnapshot answers DELETE …/snapshot/{snapname} (API2/Qemu.pm, delsnapshot; AbstractConfig.pm, snapshot_delete).
func (s *Server) dropSnapshot(c *call) (any, error) {
	name := c.params.Get("snapname")

	return s.forkOn(c, "qmdelsnapshot", func(w *worker) error {
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

		if err := s.wait(w.ctx, pace.VMResize); err != nil {
			return err
		}

		return s.onVM(c, func(m *vm) error { return s.forgetSnapshot(m, name) })
	})
}

func (s *Server) forgetSnapshot(m *vm, name string) error {
	taken, err := m.snapshot(name)
	if err != nil {
		return err
	}

	disks, err := s.disksOf(m.Node, taken.Config)
	if err != nil {
		return err
	}

	err = s.eachVolume(m.Node, taken.Config, func(st *storage.Storage, v *storage.Volume) error {
		return st.DropSnapshot(m.Node, v.ID, name)
	})
	if err != nil {
		return err
	}

	if taken.State != "" {
		s.freeVolume(m.Node, taken.State)
	}

	s.config.Machines.DropDiskSnapshots(m.ID, disks, name)
	delete(m.Snapshots, name)

	parents := []*vmconfig.Config{m.Config}
	for _, other := range sortedNames(m.Snapshots) {
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

	s.changed()

	return nil
}
