package disks

import (
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
)

// Install gives the first disk of a VM the system of the ISO that it boots, as if a user had installed it at once. So the VM boots that
// system later without its ISO. It does nothing if a disk has a system of an image already, or if the ISO is Talos', which installs itself.
func (s *Service) Install(m *config.VM, shown machine.Machine) error {
	bootsISO := len(shown.BootsFrom) == 0 || slices.Contains(shown.BootsFrom, shown.ISODrive)
	if shown.ISOOrigin == "" || !bootsISO || len(shown.Disks) == 0 {
		return nil
	}

	if slices.ContainsFunc(shown.Disks, func(d machine.Disk) bool { return d.Origin != "" }) {
		return nil
	}

	drive, err := s.settings.ParseDrive(shown.Disks[0].Slot, m.Config.Get(shown.Disks[0].Slot))
	if err != nil {
		return err
	}

	return s.storages.RecordSystem(m.Node, drive.Volume(), shown.ISOOrigin)
}
