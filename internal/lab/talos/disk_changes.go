package talos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// ChangeDisks adds, removes or resizes disks of a running machine. Its guest sees the change at once. A machine that is off
// or unknown sees them at its next start.
func (f *Fleet) ChangeDisks(vmid int, disks []Disk) error {
	m := f.machine(vmid)
	if m == nil {
		return nil
	}

	if err := m.changeDisks(disks); err != nil {
		return fmt.Errorf("change the disks of machine %d: %w", vmid, err)
	}

	return nil
}

func (m *vm) changeDisks(disks []Disk) error {
	m.mu.Lock()

	if m.life == nil {
		m.mu.Unlock()

		return nil
	}

	m.hardware.Disks = slices.Clone(disks)
	running := m.system
	err := m.save()
	m.mu.Unlock()

	if running == nil || err != nil {
		return err
	}

	return running.changeDisks(disks)
}

// changeDisks keeps the name of each remaining disk. A new disk takes the first free name.
func (s *system) changeDisks(disks []Disk) error {
	s.mu.Lock()

	var devices []device

	for _, d := range s.devices {
		if i := slices.IndexFunc(disks, func(now Disk) bool { return now.ID == d.ID }); i >= 0 {
			d.Disk = disks[i]
			devices = append(devices, d)
		}
	}

	for _, disk := range disks {
		if !slices.ContainsFunc(devices, func(d device) bool { return d.ID == disk.ID }) {
			devices = s.hardware.plug(devices, disk)
		}
	}

	s.devices = inNameOrder(devices)
	s.mu.Unlock()

	return errors.Join(s.publishDisks(), s.progressVolumes())
}

// blockDevices returns the disks of the running system, by name.
func (s *system) blockDevices() []device {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.devices)
}

// errHalted is the message that Talos repeats on its console.
var errHalted = fmt.Errorf("Talos is already installed to disk but booted from another media and %s kernel parameter is set. "+
	"Please reboot from the disk.", constants.KernelParamHaltIfInstalled)

// halt is the phase haltIfInstalled, which a kernel parameter of the ISO requests (v1.12.4, pkg/imager/imager.go;
// v1alpha1_sequencer_tasks.go, haltIfInstalled): the API never opens, and the machine reboots after the boot timeout.
func (s *system) halt(ctx context.Context) error {
	s.vm.setStage(StageHalted)
	s.vm.note(StepHalt, errHalted, s.fleet.config.Now())

	if err := s.fleet.config.Pace.Sleep(ctx, constants.BootTimeout); err != nil {
		return err
	}

	return fmt.Errorf("phase haltIfInstalled: %w", context.DeadlineExceeded)
}
