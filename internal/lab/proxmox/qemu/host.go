package qemu

import (
	"context"
	"errors"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/statistics"
)

// What a host does with its VMs, and what is done at its console.

// kept is what outlives the process.
type kept struct {
	config.Files
	statistics.Measured
}

// Save returns what the parts keep, to be written before release is called.
func (s *Service) Save() (state any, release func()) {
	files, releaseFiles := s.configs.Save()
	measured, releaseMeasured := s.statistics.Save()

	return kept{files, measured}, func() {
		releaseMeasured()
		releaseFiles()
	}
}

// Restore gives the parts back what they kept, as after a power cut at a time: no VM runs.
func (s *Service) Restore(state []byte, at time.Time) error {
	return errors.Join(s.configs.Restore(state, at), s.statistics.Restore(state, at))
}

// StartGuests starts the VMs that are to start with their host.
func (s *Service) StartGuests() error { return s.power.StartGuests() }

// CutPower takes the power from all machines. Their configurations stay.
func (s *Service) CutPower() { s.power.CutPower() }

// GuestPoweredOff records that a machine has turned itself off.
func (s *Service) GuestPoweredOff(vmid int) { s.power.GuestPoweredOff(vmid) }

// Unlock is what root does at the host's console with `qm unlock`.
func (s *Service) Unlock(ctx context.Context, vmid int) error { return s.configs.Unlock(ctx, vmid) }

// Reset restarts a VM that runs as the button on a computer does, and as `qm reset` on the host.
func (s *Service) Reset(ctx context.Context, vmid int) error { return s.power.Reset(ctx, vmid) }
