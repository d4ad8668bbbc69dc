package qemu

import (
	"context"
	"fmt"
	"time"
)

// Unlock is what root does at the host's console with `qm unlock`: the lock goes, whatever put it there and whether that
// is still at work (qemu-server PVE/CLI/qm.pm, unlock).
func (s *Service) Unlock(ctx context.Context, vmid int) error {
	return s.withConfigLock(ctx, vmid, func() error {
		return s.locked(func() error {
			m, ok := s.vms[vmid]
			if !ok {
				return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", s.env.Nodes.First(), vmid)
			}

			m.Config.Delete("lock")
			m.LockUntil = time.Time{}
			s.env.Changed()

			return nil
		})
	})
}

// Reset restarts a VM that runs as the button on a computer does, and as `qm reset` on the host: whatever it is at, it begins
// anew, with the hardware that it has (QemuServer.pm, vm_reset).
func (s *Service) Reset(ctx context.Context, vmid int) error {
	return s.withConfigLock(ctx, vmid, func() error {
		var machine Machine

		err := s.locked(func() (err error) {
			m, ok := s.vms[vmid]
			if !ok {
				return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", s.env.Nodes.First(), vmid)
			}

			if err := s.checkLock(m); err != nil {
				return err
			}

			if !m.Running {
				return fmt.Errorf("VM %d not running", vmid)
			}

			machine, err = s.machine(m)

			return err
		})
		if err != nil {
			return err
		}

		s.machines.PowerOff(vmid)

		return s.machines.PowerOn(ctx, machine)
	})
}
