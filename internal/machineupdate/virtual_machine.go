package machineupdate

import (
	"regexp"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// virtualMachine has the properties of a virtual machine and what a change of each does in the provider
// (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/vm/vm.go, vmUpdate: rebootRequired, vmUpdateDiskLocationAndSize). The first
// match counts; a property without a row reboots, as most do.
var virtualMachine = []property{
	{path: regexp.MustCompile(`^vmId$`), label: "vmid", key: "vmid", effect: Replace},
	{path: regexp.MustCompile(`^nodeName$`), label: "host", key: "host", moves: true},
	{path: regexp.MustCompile(`^migrate$`), label: "move to another host"},
	{path: regexp.MustCompile(`^memory\.dedicated$`), label: "memory", unit: "MiB", key: "memoryMiB", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.cores$`), label: "cores", key: "cores", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.sockets$`), label: "sockets", key: "sockets", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.type$`), label: "CPU type", key: "cpuType", effect: Reboot},
	{path: regexp.MustCompile(`^disks\[0\]\.size$`), label: "disk", unit: "GiB", key: "diskGiB", grows: true},
	{path: regexp.MustCompile(`^disks\[\d+\]\.size$`), label: "data disk", unit: "GiB", key: "sizeGiB", grows: true},
	{path: regexp.MustCompile(`^disks\[\d+\]\.datastoreId$`), label: "storage", key: "diskStorage", effect: Reboot},
	{path: regexp.MustCompile(`^disks\[\d+\]\.serial$`), label: "serial of a disk"},
	{path: regexp.MustCompile(`^disks\[\d+\]\.iothread$`), label: "thread of a disk"},
	{path: regexp.MustCompile(`^disks\[\d+\]\.speed`), label: "limits of a disk"},
	{path: regexp.MustCompile(`^disks\[\d+\]$`), label: "data disk", stays: true},
	{path: regexp.MustCompile(`^disks`), label: "disks", effect: Reboot},
	{path: regexp.MustCompile(`^scsiHardware$`), label: "SCSI controller", key: "scsiController", effect: Reboot},
	{path: regexp.MustCompile(`^networkDevices`), label: "network cards", effect: Reboot},
	{path: regexp.MustCompile(`^hostpcis`), label: "GPUs", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.ipConfigs\[\d+\]\.ipv[46]\.gateway$`), label: "gateway", key: "gateway", effect: Reboot},
	{path: regexp.MustCompile(`^initialization`), label: "network at boot", effect: Reboot},
	{path: regexp.MustCompile(`^agent\.enabled$`), label: "guest agent", effect: Reboot},
	{path: regexp.MustCompile(`^agent`), label: "settings of the guest agent", effect: Reboot},
	{path: regexp.MustCompile(`^tags`), label: "tags"},
	{path: regexp.MustCompile(`^description$`), label: "description"},
	{path: regexp.MustCompile(`^name$`), label: "name"},
	{path: regexp.MustCompile(`^started$`), label: "switched on"},
	{path: regexp.MustCompile(`^bootOrders`), label: "boot order", effect: Reboot},
	{path: regexp.MustCompile(`^onBoot$`), label: "start at boot"},
	{path: regexp.MustCompile(`^startup`), label: "startup order"},
	{path: regexp.MustCompile(`^poolId$`), label: "pool"},
	{path: regexp.MustCompile(`^protection$`), label: "protection"},
	{path: regexp.MustCompile(`^cdrom`), label: "CD-ROM"},
	{path: regexp.MustCompile(`^(timeout\w*|reboot|rebootAfterUpdate|stopOnDestroy)$`), label: "how the provider waits and stops"},
}

// OfVirtualMachine returns the change of a property of a virtual machine, given its inputs before and after. isInput is false for what
// the engine lists beside the inputs.
func OfVirtualMachine(path string, before, after map[string]any) (c Change, isInput bool) {
	if disk := diskPath.FindString(path); disk != "" && isUnplugged(disk, before, after) {
		of := property{label: "disk " + propertymap.Text(after, disk+".interface"), unplugged: true}
		return Change{property: of, path: path, before: before, after: after}, true
	}
	return changeOf(virtualMachine, path, before, after)
}

// diskPath matches the path of a disk.
var diskPath = regexp.MustCompile(`^disks\[\d+\]`)
