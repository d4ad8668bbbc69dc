package risk

import (
	"fmt"
	"regexp"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// property is a property of a virtual machine and the effect of its change.
type property struct {
	path  *regexp.Regexp
	label string
	unit  string
	// key is the property's name in the inventory; empty for a derived property.
	key    string
	effect Kind
	// shrinks is true if a smaller value is refused, and the guest uses a larger one from its next boot on.
	shrinks bool
	// moves is true if the machine moves to another host.
	moves bool
	// stays is true if the property can be added, but not removed.
	stays bool
	// unplugged is true for a property of a disk that somebody has unplugged from the machine.
	unplugged bool
}

// properties are the effects of a change of each property in the provider (bpg/terraform-provider-proxmox v0.73.0,
// proxmoxtf/resource/vm/vm.go, vmUpdate: rebootRequired, vmUpdateDiskLocationAndSize). The first match counts; a property
// without a row reboots, as most do.
var properties = []property{
	{path: regexp.MustCompile(`^vmId$`), label: "vmid", key: "vmid", effect: Replace},
	{path: regexp.MustCompile(`^nodeName$`), label: "host", key: "host", effect: Change, moves: true},
	{path: regexp.MustCompile(`^migrate$`), label: "move to another host", effect: Change},
	{path: regexp.MustCompile(`^memory\.dedicated$`), label: "memory", unit: "MiB", key: "memoryMiB", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.cores$`), label: "cores", key: "cores", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.sockets$`), label: "sockets", key: "sockets", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.type$`), label: "CPU type", key: "cpuType", effect: Reboot},
	{path: regexp.MustCompile(`^disks\[0\]\.size$`), label: "disk", unit: "GiB", key: "diskGiB", effect: Change, shrinks: true},
	{path: regexp.MustCompile(`^disks\[\d+\]\.size$`), label: "data disk", unit: "GiB", key: "sizeGiB", effect: Change, shrinks: true},
	{path: regexp.MustCompile(`^disks\[\d+\]\.datastoreId$`), label: "storage", key: "diskStorage", effect: Reboot},
	{path: regexp.MustCompile(`^disks\[\d+\]\.serial$`), label: "serial of a disk", effect: Change},
	{path: regexp.MustCompile(`^disks\[\d+\]\.iothread$`), label: "thread of a disk", effect: Change},
	{path: regexp.MustCompile(`^disks\[\d+\]\.speed`), label: "limits of a disk", effect: Change},
	{path: regexp.MustCompile(`^disks\[\d+\]$`), label: "data disk", effect: Change, stays: true},
	{path: regexp.MustCompile(`^disks`), label: "disks", effect: Reboot},
	{path: regexp.MustCompile(`^scsiHardware$`), label: "SCSI controller", key: "scsiController", effect: Reboot},
	{path: regexp.MustCompile(`^networkDevices`), label: "network cards", effect: Reboot},
	{path: regexp.MustCompile(`^hostpcis`), label: "GPUs", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.ipConfigs\[\d+\]\.ipv[46]\.gateway$`), label: "gateway", key: "gateway", effect: Reboot},
	{path: regexp.MustCompile(`^initialization`), label: "network at boot", effect: Reboot},
	{path: regexp.MustCompile(`^agent\.enabled$`), label: "guest agent", effect: Reboot},
	{path: regexp.MustCompile(`^agent`), label: "settings of the guest agent", effect: Reboot},
	{path: regexp.MustCompile(`^tags`), label: "tags", effect: Change},
	{path: regexp.MustCompile(`^description$`), label: "description", effect: Change},
	{path: regexp.MustCompile(`^name$`), label: "name", effect: Change},
	{path: regexp.MustCompile(`^started$`), label: "switched on", effect: Change},
	{path: regexp.MustCompile(`^bootOrders`), label: "boot order", effect: Reboot},
	{path: regexp.MustCompile(`^onBoot$`), label: "start at boot", effect: Change},
	{path: regexp.MustCompile(`^startup`), label: "startup order", effect: Change},
	{path: regexp.MustCompile(`^poolId$`), label: "pool", effect: Change},
	{path: regexp.MustCompile(`^protection$`), label: "protection", effect: Change},
	{path: regexp.MustCompile(`^cdrom`), label: "CD-ROM", effect: Change},
	{path: regexp.MustCompile(`^(timeout\w*|reboot|rebootAfterUpdate|stopOnDestroy)$`), label: "how the provider waits and stops", effect: Change},
}

// computed matches outputs that the engine lists beside the inputs that change them, and its bridge's own note.
var computed = regexp.MustCompile(`^(__meta|ipv4Addresses|ipv6Addresses|networkInterfaceNames|macAddresses)`)

func propertyAt(path string) property {
	for _, p := range properties {
		if p.path.MatchString(path) {
			return p
		}
	}
	return property{label: path, effect: Reboot}
}

// propertyOf returns the property that a step changes.
func propertyOf(path string, s plan.Step) property {
	if disk := diskPath.FindString(path); disk != "" && isUnplugged(disk, s.Old, s.New) {
		return property{label: "disk " + propertymap.Text(s.New, disk+".interface"), effect: Change, unplugged: true}
	}
	return propertyAt(path)
}

// diskPath matches the path of a disk.
var diskPath = regexp.MustCompile(`^disks\[\d+\]`)

// difference returns a change of one property in words, such as "memory 8192 → 16384 MiB".
func (p property) difference(path string, s plan.Step) string {
	before, after := propertymap.At(s.Old, path), propertymap.At(s.New, path)
	if !isPlain(before) || !isPlain(after) || before == after { // equal: the state contains only that it differs
		return p.label
	}
	words := fmt.Sprintf("%s %v → %v", p.label, before, after)
	if p.unit != "" {
		words += " " + p.unit
	}
	return words
}

// impossible returns why Proxmox VE or the provider refuses a change; empty if they accept it.
func (p property) impossible(path string, s plan.Step) string {
	switch {
	case p.shrinks && isSmaller(path, s):
		return "cannot shrink: Proxmox VE only grows disks"
	case p.moves && len(list(s.Old, "hostpcis")) > 0:
		return "cannot change: Proxmox VE moves no machine with a GPU"
	case p.unplugged:
		return wasUnplugged
	case p.goes(path, s):
		return "cannot be taken away: the provider deletes no disk of a machine that is there"
	default:
		return ""
	}
}

// goes reports whether a property that cannot be removed is removed.
func (p property) goes(path string, s plan.Step) bool {
	return p.stays && propertymap.At(s.New, path) == nil
}

// isPlain reports whether a value can be shown in a line.
func isPlain(value any) bool {
	switch value.(type) {
	case string, float64, int, bool:
		return true
	default:
		return false
	}
}

// isSmaller reports whether a size would shrink.
func isSmaller(path string, s plan.Step) bool {
	before, wasNumber := propertymap.At(s.Old, path).(float64)
	after, isNumber := propertymap.At(s.New, path).(float64)
	return wasNumber && isNumber && after < before
}

// undo returns the edit of the inventory that reverts a change; empty if there is none.
func (p property) undo(path string, s plan.Step) string {
	if p.unplugged {
		return fmt.Sprintf("plug %s of VM %v in again, which Proxmox VE shows as an unused disk,", p.label, propertymap.At(s.New, "vmId"))
	}
	if p.goes(path, s) {
		return "put its dataDisks back as they were"
	}
	before := propertymap.At(s.Old, path)
	if p.key == "" || !isPlain(before) {
		return ""
	}
	return fmt.Sprintf("set %s back to %v", p.key, before)
}
