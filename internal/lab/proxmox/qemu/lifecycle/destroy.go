package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// destroyVM handles DELETE /nodes/{node}/qemu/{vmid} (API2/Qemu.pm, destroy_vm).
func (s *Service) destroyVM(c *api.Call) (any, error) {
	if err := settings.RootOnly(c.Identity, c.Params, "skiplock"); err != nil {
		return nil, err
	}

	if err := s.checkDestroy(c); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "qmdestroy", strconv.Itoa(c.VMID), c.Identity, c.VMID, func(w *task.Worker) error {
		return s.configs.WithLock(w.Ctx, c.VMID, func() error { return s.destroy(w, c) })
	})
}

// checkDestroy runs the checks. They run when the request arrives, and again when the worker has its lock.
func (s *Service) checkDestroy(c *api.Call) error {
	configured := s.ha.Configured(c.VMID)

	return s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		if err := m.CheckProtection(fmt.Sprintf("can't remove VM %d", c.VMID)); err != nil {
			return err
		}

		if configured && !c.Params.Bool("purge", false) {
			return fmt.Errorf("unable to remove VM %d - used in HA resources and purge parameter not set.", c.VMID)
		}

		if s.processes.Running(m.ID) {
			return fmt.Errorf("VM %d is running - destroy failed", c.VMID)
		}

		return nil
	})
}

// destroy removes the VM's volumes, and its configuration last, so that its ID is not reused before.
func (s *Service) destroy(w *task.Worker, c *api.Call) error {
	if err := s.checkDestroy(c); err != nil {
		return err
	}

	if err := s.configs.On(c.Node, c.VMID, s.checkUnused); err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, pace.VMDelete); err != nil {
		return err
	}

	s.machines.Destroy(c.VMID)

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		s.freeDisks(w, m, c.Params.Bool("destroy-unreferenced-disks", false))
		return nil
	})
	if err != nil {
		return err
	}

	if c.Params.Bool("purge", false) {
		s.purge(w, c.VMID)
	}

	s.permissions.ForgetVM(c.VMID)
	s.configs.Delete(c.VMID)

	return nil
}

// purge removes a VM from related configurations.
func (s *Service) purge(w *task.Worker, vmid int) {
	w.Print("purging VM %d from related configurations..", vmid)

	if s.ha.Forget(vmid) {
		w.Print("NOTE: removed VM %d from HA resource configuration.", vmid)
	}
}

// checkUnused returns an error for a locked VM, and for a template whose disks are the base of linked clones (QemuServer.pm,
// destroy_vm).
func (s *Service) checkUnused(m *config.VM) error {
	if err := m.CheckLock(s.env.Now()); err != nil {
		return err
	}

	if !m.Config.Template() {
		return nil
	}

	drives, err := s.access.Drives(m.Config)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if !drive.CDROM() && s.storages.Linked(m.Node, drive.Volume()) {
			return fmt.Errorf("base volume '%s' is still in use by linked cloned", drive.Volume())
		}
	}

	return nil
}

// freeDisks removes the volumes that the VM owns: those in its configuration, and with all every volume with its ID.
func (s *Service) freeDisks(w *task.Worker, m *config.VM, all bool) {
	var volumes []string

	for _, values := range []map[string]string{m.Config.Values, m.Config.Pending} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if vmconfig.IsDrive(key) || settings.IsUnused(key) {
				volumes = append(volumes, config.VolumeOf(values[key]))
			}
		}
	}

	if all {
		volumes = append(volumes, s.storages.Owned(m.Node, m.ID)...)
	}

	slices.Sort(volumes)

	for _, volume := range slices.Compact(volumes) {
		if s.disks.Owns(m, volume) {
			s.storages.Free(m.Node, volume)
			w.Print("successfully removed %s", volume)
		}
	}
}
