package power

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
)

// Reset restarts a running VM like a reset button, as `qm reset` does on the host: it stops at once and boots with the same
// hardware (QemuServer.pm, vm_reset).
func (s *Service) Reset(ctx context.Context, vmid int) error {
	return s.configs.WithLock(ctx, vmid, func() error {
		var shown machine.Machine

		err := s.configs.Anywhere(vmid, func(m *config.VM) (err error) {
			if err := m.CheckLock(s.env.Now()); err != nil {
				return err
			}

			if !s.processes.Running(vmid) {
				return fmt.Errorf("VM %d not running", vmid)
			}

			shown, err = s.hardware(m)

			return err
		})
		if err != nil {
			return err
		}

		s.machines.PowerOff(vmid)

		return s.machines.PowerOn(ctx, shown)
	})
}
