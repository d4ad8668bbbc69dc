package qemu

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// vm is a virtual machine with its power.
type vm struct {
	ID     int              `json:"id"`
	Node   string           `json:"node"`
	Config *vmconfig.Config `json:"config"`

	// Running is whether QEMU runs. What follows is what it was started with.
	Running bool      `json:"running,omitempty"`
	PID     int       `json:"pid,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Shown is when the status turns to running; it lags only when a fault asks for it.
	Shown time.Time `json:"-"`
	// LockUntil keeps the configuration's lock visible, when a fault asks for it.
	LockUntil time.Time `json:"-"`
	Memory    int       `json:"memory,omitempty"`
	PCI       []string  `json:"pci,omitempty"`
	// Snapshots are what the machine was, by name.
	Snapshots map[string]*snapshot `json:"snapshots,omitempty"`
	// Reboot is set while a reboot waits for the machine to be off.
	Reboot bool `json:"-"`
}

// find returns a VM on a node, or the error of a configuration file that is not there. The lock is held.
func (s *Service) find(node string, vmid int) (*vm, error) {
	if m, ok := s.vms[vmid]; ok && m.Node == node {
		return m, nil
	}

	return nil, fmt.Errorf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", node, vmid)
}

// sorted lists the VMs by ID. The lock is held.
func (s *Service) sorted() []*vm {
	all := slices.Collect(maps.Values(s.vms))
	slices.SortFunc(all, func(a, b *vm) int { return a.ID - b.ID })

	return all
}

// lock is the operation that a configuration is locked for, or "".
func (m *vm) lock(now time.Time) string {
	if lock := m.Config.Lock(); lock != "" {
		return lock
	}

	if now.Before(m.LockUntil) {
		return "clone"
	}

	return ""
}

// checkLock fails for a configuration that some operation holds (pve-guest-common AbstractConfig.pm, check_lock).
func (s *Service) checkLock(m *vm) error {
	if lock := m.lock(s.env.Now()); lock != "" {
		return fmt.Errorf("VM is locked (%s)", lock)
	}

	return nil
}

// checkProtection fails for a protected VM.
func (m *vm) checkProtection(problem string) error {
	if m.Config.Flag("protection") {
		return fmt.Errorf("%s - protection mode enabled", problem)
	}

	return nil
}
