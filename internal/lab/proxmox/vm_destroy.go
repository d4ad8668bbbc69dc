package proxmox

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// destroyVM answers DELETE /nodes/{node}/qemu/{vmid} (API2/Qemu.pm, destroy_vm).
func (s *Server) destroyVM(c *call) (any, error) {
	if err := s.rootOnly(c, "skiplock"); err != nil {
		return nil, err
	}

	if err := s.locked(func() error { return s.checkDestroy(c) }); err != nil {
		return nil, err
	}

	return s.fork(c.node, "qmdestroy", strconv.Itoa(c.vmid), c.identity, c.vmid, func(w *worker) error {
		return s.withConfigLock(w.ctx, c.vmid, func() error { return s.destroy(w, c) })
	})
}

// checkDestroy is made when the request arrives and again when the worker has its lock.
func (s *Server) checkDestroy(c *call) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	if err := m.checkProtection(fmt.Sprintf("can't remove VM %d", c.vmid)); err != nil {
		return err
	}

	if _, ok := s.state.HA[c.vmid]; ok && !c.params.Bool("purge", false) {
		return fmt.Errorf("unable to remove VM %d - used in HA resources and purge parameter not set.", c.vmid)
	}

	if m.Running {
		return fmt.Errorf("VM %d is running - destroy failed", c.vmid)
	}

	return nil
}

// destroy frees the VM's volumes and removes its configuration last, so that its ID is not taken before.
func (s *Server) destroy(w *worker, c *call) error {
	err := s.locked(func() error {
		if err := s.checkDestroy(c); err != nil {
			return err
		}

		return s.checkUnused(c)
	})
	if err != nil {
		return err
	}

	if err := s.wait(w.ctx, pace.VMDelete); err != nil {
		return err
	}

	s.config.Machines.Destroy(c.vmid)

	return s.locked(func() error {
		m, err := s.state.find(c.node, c.vmid)
		if err != nil {
			return err
		}

		s.freeDisks(w, m, c.params.Bool("destroy-unreferenced-disks", false))

		if c.params.Bool("purge", false) {
			w.print("purging VM %d from related configurations..", m.ID)
			s.forgetHA(w, m.ID)
		}

		s.state.Access.ForgetVM(m.ID)
		delete(s.state.VMs, m.ID)
		s.changed()

		return nil
	})
}

func (s *Server) forgetHA(w *worker, vmid int) {
	if _, ok := s.state.HA[vmid]; ok {
		delete(s.state.HA, vmid)
		w.print("NOTE: removed VM %d from HA resource configuration.", vmid)
	}
}

// checkUnused fails for a locked VM, and for a template whose disks are the base of linked clones (QemuServer.pm,
// destroy_vm).
func (s *Server) checkUnused(c *call) error {
	m, err := s.state.find(c.node, c.vmid)
	if err != nil {
		return err
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	if !m.Config.Template() {
		return nil
	}

	drives, err := s.drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if s.linked(m.Node, drive) {
			return fmt.Errorf("base volume '%s' is still in use by linked cloned", drive.Volume())
		}
	}

	return nil
}

func (s *Server) linked(node string, drive *vmconfig.Drive) bool {
	st, err := s.state.storage(drive.Storage(), node)
	if err != nil || drive.CDROM() {
		return false
	}

	volumes, err := st.Volumes(node)
	if err != nil {
		return false
	}

	for _, v := range volumes {
		if v.Parent == drive.Volume() {
			return true
		}
	}

	return false
}

// freeDisks frees the volumes that the VM owns: those in its configuration, and with all set every one that bears
// its ID.
func (s *Server) freeDisks(w *worker, m *vm, all bool) {
	var volumes []string

	for _, values := range []map[string]string{m.Config.Values, m.Config.Pending} {
		for _, key := range sortedNames(values) {
			if vmconfig.IsDrive(key) || unusedKey.MatchString(key) {
				volumes = append(volumes, volumeOf(values[key]))
			}
		}
	}

	if all {
		for _, id := range sortedNames(s.state.Storages) {
			for _, v := range s.state.Storages[id].Owned(m.Node, m.ID) {
				volumes = append(volumes, v.ID)
			}
		}
	}

	slices.Sort(volumes)

	for _, volume := range slices.Compact(volumes) {
		if s.owns(m, volume) {
			s.freeVolume(m.Node, volume)
			w.print("successfully removed %s", volume)
		}
	}
}
