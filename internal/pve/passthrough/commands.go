package passthrough

import (
	"fmt"
	"slices"
	"strings"
)

// Commands returns what to do on the host, in order: commands for a shell of root, and comments for what no command does.
func (l Lack) Commands() []string {
	if l.IsEmpty() {
		return nil
	}
	var lines []string
	if len(l.ungrouped) > 0 {
		lines = append(lines, l.facts.firmware())
		lines = append(lines, l.facts.kernelOptions()...)
	}
	if len(l.held) > 0 {
		lines = append(lines, l.vfio()...)
	}
	return append(lines, "reboot")
}

// firmware says what the firmware calls the IOMMU.
func (f Facts) firmware() string {
	name := "VT-d (Intel) or AMD-Vi (AMD)"
	switch f.Processor {
	case Intel:
		name = "VT-d"
	case AMD:
		name = "AMD-Vi"
	}
	return fmt.Sprintf("# in the setup of the firmware: turn on %s, often named IOMMU, unless it is on", name)
}

// offSwitches are the options with which a kernel leaves the IOMMU off (Linux, kernel-parameters.txt).
var offSwitches = []string{"amd_iommu=off", "intel_iommu=off", "iommu=off"}

const intelOption = "intel_iommu=on"

// kernelOptions are the commands that change the command line of the kernel; none if it is as it must be.
func (f Facts) kernelOptions() []string {
	var edits []edit
	for _, option := range offSwitches {
		if slices.Contains(f.Report.CommandLine, option) {
			edits = append(edits, edit{remove: option})
		}
	}
	if !f.turnsOnItself() && !slices.Contains(f.Report.CommandLine, intelOption) {
		edits = append(edits, edit{add: intelOption})
	}
	if len(edits) == 0 {
		return nil
	}
	var lines []string
	if f.Processor == "" && edits[len(edits)-1].add != "" {
		lines = append(lines, "# the processor is not known here: without one of Intel's, leave out "+intelOption)
	}
	switch f.loader() {
	case GRUB:
		return append(lines, inGRUB(edits)...)
	case SystemdBoot:
		return append(lines, inSystemdBoot(edits)...)
	default:
		lines = append(lines, "# the boot loader is not known here; `efibootmgr -v` names grubx64.efi or shimx64.efi with GRUB:")
		lines = append(lines, inGRUB(edits)...)
		lines = append(lines, "# and systemd-bootx64.efi with systemd-boot, then instead:")
		return append(lines, inSystemdBoot(edits)...)
	}
}

// edit adds an option to the command line of the kernel, or removes one.
type edit struct{ add, remove string }

func inGRUB(edits []edit) []string {
	var lines []string
	for _, one := range edits {
		expression := fmt.Sprintf(`/^GRUB_CMDLINE_LINUX/s/ *\b%s\b//g`, one.remove)
		if one.add != "" {
			expression = fmt.Sprintf(`s/^GRUB_CMDLINE_LINUX_DEFAULT="/&%s /`, one.add)
		}
		lines = append(lines, fmt.Sprintf("sed -i '%s' /etc/default/grub", expression))
	}
	return append(lines, "update-grub")
}

func inSystemdBoot(edits []edit) []string {
	var lines []string
	for _, one := range edits {
		expression := fmt.Sprintf(`s/ *\b%s\b//g`, one.remove)
		if one.add != "" {
			expression = fmt.Sprintf(`1s/$/ %s/`, one.add)
		}
		lines = append(lines, fmt.Sprintf("sed -i '%s' /etc/kernel/cmdline", expression))
	}
	return append(lines, "proxmox-boot-tool refresh")
}

// vfio are the commands that give devices to vfio-pci when the host boots. Of several lists of IDs the last one counts, so one list has all.
func (l Lack) vfio() []string {
	given := l.given()
	ids, drivers := l.idsAndDrivers(given)
	lines := []string{
		"# replaces /etc/modprobe.d/vfio.conf; `grep -r vfio-pci /etc/modprobe.d` shows what is there now",
		fmt.Sprintf("echo 'options %s ids=%s' > /etc/modprobe.d/vfio.conf", VFIO, strings.Join(ids, ",")),
	}
	for _, driver := range drivers {
		lines = append(lines, fmt.Sprintf("echo 'softdep %s pre: %s' >> /etc/modprobe.d/vfio.conf", driver, VFIO))
	}
	for _, device := range l.devices {
		if slices.Contains(ids, device.ID) && !slices.Contains(given, device) {
			lines = append(lines, fmt.Sprintf("# PCI %s has the ID %s too, so the host loses it as well", device.Address, device.ID))
		}
	}
	return append(lines, "update-initramfs -u -k all")
}

// given are the devices for vfio-pci: all functions of the displays that are wanted, or that vfio-pci has now. Other devices are left to
// Proxmox VE, which takes them when a machine starts: by their IDs the host could lose its own disk of the same model.
func (l Lack) given() []Device {
	var slots []string
	for _, device := range l.devices {
		if device.IsDisplay && (slices.Contains(l.wanted, device.Address) || l.facts.Report.Drivers[device.Address].InUse == VFIO) {
			slots = append(slots, slot(device.Address))
		}
	}
	return slices.DeleteFunc(slices.Clone(l.devices), func(device Device) bool { return !slices.Contains(slots, slot(device.Address)) })
}

// idsAndDrivers returns the IDs of devices, and the drivers of the host that could take those that it has not given to vfio-pci. Each once.
func (l Lack) idsAndDrivers(given []Device) (ids, drivers []string) {
	for _, device := range given {
		if !slices.Contains(ids, device.ID) {
			ids = append(ids, device.ID)
		}
		of := l.facts.Report.Drivers[device.Address]
		for _, driver := range append([]string{of.InUse}, of.Modules...) {
			if driver != "" && driver != VFIO && !slices.Contains(drivers, driver) {
				drivers = append(drivers, driver)
			}
		}
	}
	return ids, drivers
}

// slot returns the address of a function's device, without the function.
func slot(address string) string {
	before, _, _ := strings.Cut(address, ".")
	return before
}
