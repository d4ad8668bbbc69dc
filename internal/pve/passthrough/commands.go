package passthrough

import (
	"fmt"
	"slices"
	"strings"
)

// Commands returns what to do on the host, in order: commands for a shell of root, and comments for what no command does. They may be run
// again before the reboot.
func (l Lack) Commands() []string {
	if l.IsEmpty() {
		return nil
	}
	var lines []string
	if len(l.ungrouped) > 0 {
		lines = append(lines, l.facts.kernelOptions()...)
	}
	if len(l.held) > 0 {
		lines = append(lines, l.vfio()...)
	}
	if len(l.ungrouped) > 0 {
		lines = append(lines, l.facts.firmware())
	}
	return append(lines, "reboot")
}

// firmware returns the line with the firmware's name of the IOMMU. The firmware's set-up is reached by a reboot, so the line stands before the only
// one.
func (f Facts) firmware() string {
	name := "VT-d/AMD-Vi"
	switch f.Processor {
	case Intel:
		name = "VT-d"
	case AMD:
		name = "AMD-Vi"
	}
	return fmt.Sprintf("# at this reboot, in the firmware's set-up: turn on %s (IOMMU)", name)
}

// offSwitches are the options with which a kernel leaves the IOMMU off (Linux, kernel-parameters.txt).
var offSwitches = []string{"amd_iommu=off", "intel_iommu=off", "iommu=off"}

const intelOption = "intel_iommu=on"

// kernelOptions returns the commands that change the command line of the kernel; none if it is already as it must be.
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
		lines = append(lines, "# without a processor of Intel's, leave out the line of "+intelOption)
	}
	switch f.loader() {
	case GRUB:
		return append(lines, inGRUB(edits)...)
	case SystemdBoot:
		return append(lines, inSystemdBoot(edits)...)
	default:
		lines = append(lines, "# if `efibootmgr -v` names grubx64.efi or shimx64.efi, it is GRUB:")
		lines = append(lines, inGRUB(edits)...)
		lines = append(lines, "# if it names systemd-bootx64.efi, it is systemd-boot, so instead:")
		return append(lines, inSystemdBoot(edits)...)
	}
}

// edit adds an option to the command line of the kernel, or removes one.
type edit struct{ add, remove string }

// inGRUB returns the commands that edit GRUB's default options. They change neither a value in single quotes nor a file of /etc/default/grub.d.
func inGRUB(edits []edit) []string {
	var lines []string
	for _, one := range edits {
		expression := fmt.Sprintf(`/^GRUB_CMDLINE_LINUX/s/ *\b%s\b//g`, one.remove)
		if one.add != "" {
			expression = fmt.Sprintf(`/%[1]s/!s/^GRUB_CMDLINE_LINUX_DEFAULT="/&%[1]s /`, one.add)
		}
		lines = append(lines, fmt.Sprintf("sed -i '%s' /etc/default/grub", expression))
	}
	return append(lines,
		"# if this does not show the change, edit the line that it shows:",
		"grep -rsn CMDLINE_LINUX /etc/default/grub /etc/default/grub.d",
		"update-grub")
}

func inSystemdBoot(edits []edit) []string {
	var lines []string
	for _, one := range edits {
		expression := fmt.Sprintf(`s/ *\b%s\b//g`, one.remove)
		if one.add != "" {
			expression = fmt.Sprintf(`1{/%[1]s/!s/$/ %[1]s/}`, one.add)
		}
		lines = append(lines, fmt.Sprintf("sed -i '%s' /etc/kernel/cmdline", expression))
	}
	return append(lines, "proxmox-boot-tool refresh")
}

// vfio returns the commands that give devices to vfio-pci when the host boots. If there are several lists of IDs, only the last one counts, so one
// list has all IDs; modprobe reads only files whose names end with .conf, so the copy does not count.
func (l Lack) vfio() []string {
	given := l.given()
	ids, drivers := l.idsAndDrivers(given)
	lines := append(l.losses(given, ids),
		"# vfio.conf is replaced: if this shows more IDs or options of vfio-pci,",
		"# add them to the new vfio.conf and remove them there:",
		"grep -rsE 'vfio[-_]pci' /etc/modprobe.d /proc/cmdline",
		"cp -a --backup=numbered "+vfioFile+" "+vfioFile+".before 2>/dev/null || true",
		fmt.Sprintf("echo 'options %s ids=%s' > %s", VFIO, strings.Join(ids, ","), vfioFile),
	)
	for _, driver := range drivers {
		lines = append(lines, fmt.Sprintf("echo 'softdep %s pre: %s' >> %s", driver, VFIO, vfioFile))
	}
	return append(lines, updateInitramfs+" -u -k all")
}

const (
	vfioFile        = "/etc/modprobe.d/vfio.conf"
	updateInitramfs = "update-initramfs"
)

// losses returns lines that state what the host loses besides the given devices: other devices with the same IDs, and its screen.
func (l Lack) losses(given []Device, ids []string) []string {
	var lines []string
	isScreenLeft := false
	for _, device := range l.devices {
		hasID := slices.Contains(ids, device.ID)
		isScreenLeft = isScreenLeft || device.IsDisplay && !hasID && !l.isVirtual(device)
		if hasID && !slices.Contains(given, device) {
			lines = append(lines, fmt.Sprintf("# PCI %s has the ID %s too: the host loses it as well", device.Address, device.ID))
		}
	}
	if len(lines) > 0 {
		lines = append(lines, "# if the host needs it, leave out the lines up to "+updateInitramfs)
	}
	if !isScreenLeft {
		lines = append(lines, "# no display is left to the host: its screen stays black from the", "# reboot on, so check first that you reach the host by SSH")
	}
	return lines
}

// given returns the devices for vfio-pci: all functions of the displays that are wanted, or that vfio-pci has now. Other devices are left to Proxmox
// VE, which takes them when a machine starts: by their IDs the host could lose its own disk of the same model.
func (l Lack) given() []Device {
	var slots []string
	for _, device := range l.devices {
		isAsked := slices.Contains(l.wanted, device.Address) || l.facts.Report.Drivers[device.Address].InUse == VFIO
		if device.IsDisplay && isAsked && !l.isVirtual(device) {
			slots = append(slots, slot(device.Address))
		}
	}
	return slices.DeleteFunc(slices.Clone(l.devices), func(device Device) bool { return !slices.Contains(slots, slot(device.Address)) })
}

// idsAndDrivers returns the IDs of the given devices, and the drivers of the host that could take them instead of vfio-pci, each once.
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
