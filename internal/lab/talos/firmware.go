package talos

import "fmt"

// medium is what the firmware boots.
type medium struct {
	release Release
	iso     bool
}

// bootMedium returns the first bootable drive in the boot order. OVMF takes the order from QEMU at each start, so that a
// blank scsi0 leads to the ISO, regardless of what the other disks hold. ok is false if nothing is bootable.
func (m *vm) bootMedium() (found medium, ok bool, err error) {
	hardware := m.facts()

	for _, drive := range hardware.bootOrder() {
		if drive == hardware.ISODrive && hardware.ISO != "" {
			release, err := m.fleet.config.Installer(hardware.ISO)
			if err != nil {
				return medium{}, false, fmt.Errorf("boot from %s: %w", hardware.ISO, err)
			}

			return medium{release: release, iso: true}, true, nil
		}

		if installed := m.fleet.installedOn(hardware, drive); installed != nil {
			return medium{release: installed.read().Release.clone()}, true, nil
		}
	}

	return medium{}, false, nil
}

// bootOrder returns the drives in the boot order.
func (h Hardware) bootOrder() []string {
	if len(h.BootOrder) > 0 {
		return h.BootOrder
	}

	order := make([]string, 0, len(h.Disks)+1)
	for _, disk := range h.Disks {
		order = append(order, disk.drive())
	}

	return append(order, h.ISODrive)
}
