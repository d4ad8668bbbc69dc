package proxmox

import (
	"context"
	"fmt"
	"time"
)

// Unlock is what root does at the host's console with `qm unlock`: the lock goes, whatever put it there and whether that
// is still at work (qemu-server PVE/CLI/qm.pm, unlock).
func (s *Server) Unlock(ctx context.Context, vmid int) error {
	return s.withConfigLock(ctx, vmid, func() error {
		return s.locked(func() error {
			m, ok := s.state.VMs[vmid]
			if !ok {
				return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", s.hosts()[0].Name, vmid)
			}

			m.Config.Delete("lock")
			m.LockUntil = time.Time{}
			s.changed()

			return nil
		})
	})
}

// Reset restarts a VM that runs as the button on a computer does, and as `qm reset` on the host: whatever it is at, it begins
// anew, with the hardware that it has (QemuServer.pm, vm_reset).
func (s *Server) Reset(ctx context.Context, vmid int) error {
	return s.withConfigLock(ctx, vmid, func() error {
		var machine Machine

		err := s.locked(func() (err error) {
			m, ok := s.state.VMs[vmid]
			if !ok {
				return fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", s.hosts()[0].Name, vmid)
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

		s.config.Machines.PowerOff(vmid)

		return s.config.Machines.PowerOn(ctx, machine)
	})
}

// HostOf names the host that a VM is on, "" for one that is not there.
func (s *Server) HostOf(vmid int) string {
	s.mu.Lock()
	defer s.mu.Unlock()

	if m, ok := s.state.VMs[vmid]; ok {
		return m.Node
	}

	return ""
}

// HostNames are the nodes of the cluster.
func (s *Server) HostNames() []string {
	hosts := s.hosts()

	names := make([]string, len(hosts))
	for i, host := range hosts {
		names[i] = host.Name
	}

	return names
}
