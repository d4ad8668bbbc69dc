package qemu

import (
	"context"
	"errors"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
)

// Operations of the host itself on its VMs, and commands of its console.

// kept is the persistent state.
type kept struct {
	config.Files
	statistics.Measured
}

// Save locks the parts and returns their persistent state, which must be encoded before release is called.
func (s *Service) Save() (state any, release func()) {
	files, releaseFiles := s.configs.Save()
	measured, releaseMeasured := s.statistics.Save()

	return kept{files, measured}, func() {
		releaseMeasured()
		releaseFiles()
	}
}

// Restore loads the persistent state, as after a power cut at the given time: no VM runs.
func (s *Service) Restore(state []byte, at time.Time) error {
	return errors.Join(s.configs.Restore(state, at), s.statistics.Restore(state, at))
}

// StartGuests starts the VMs that start with their host.
func (s *Service) StartGuests() error { return s.power.StartGuests() }

// CutPower cuts the power of all machines. Their configurations stay.
func (s *Service) CutPower() { s.power.CutPower() }

// GuestPoweredOff records that a machine has turned itself off.
func (s *Service) GuestPoweredOff(vmid int) { s.power.GuestPoweredOff(vmid) }

// Unlock does what root does at the host's console with `qm unlock`.
func (s *Service) Unlock(ctx context.Context, vmid int) error { return s.configs.Unlock(ctx, vmid) }

// Reset restarts a running VM like a reset button, as `qm reset` does on the host.
func (s *Service) Reset(ctx context.Context, vmid int) error { return s.power.Reset(ctx, vmid) }
