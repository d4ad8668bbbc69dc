package discovery

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// disk returns the storage of a disk on the SCSI controller and its size in GiB; size 0 if it is no whole number of them.
func (m Machine) disk(drive int) (storage string, sizeGiB int) {
	storage, rest, _ := strings.Cut(m.Config[hardware.SCSIDrive(drive)], ":")
	for setting := range strings.SplitSeq(rest, ",") {
		if size, isSize := strings.CutPrefix(setting, "size="); isSize {
			sizeGiB = gibibytes(size)
		}
	}
	return storage, sizeGiB
}

func gibibytes(size string) int {
	for _, unit := range []struct {
		suffix      string
		times, over int
	}{{"T", 1024, 1}, {"G", 1, 1}, {"M", 1, 1024}} {
		if text, isUnit := strings.CutSuffix(size, unit.suffix); isUnit && integer(text)*unit.times%unit.over == 0 {
			return integer(text) * unit.times / unit.over
		}
	}
	return 0
}

// dataDisks returns the further disks that have a user volume of Talos, as long as they follow each other on the controller. Others stay as
// they are, and are named.
func (n Node) dataDisks(system string) (disks []dataDiskKeys, others []string) {
	for _, drive := range n.Machine.further() {
		storage, size := n.Machine.disk(drive)
		at := slices.IndexFunc(n.Volumes, func(v nodeops.Volume) bool { return v.Drive == hardware.SCSIDrive(drive) && v.Ready() })
		if at < 0 || drive != hardware.DataDisk(len(disks)) || size == 0 {
			others = append(others, hardware.SCSIDrive(drive))
			continue
		}
		keys := dataDiskKeys{SizeGiB: size, Mount: n.Volumes[at].Name}
		if storage != system {
			keys.Storage = storage
		}
		disks = append(disks, keys)
	}
	return disks, others
}

// further returns the numbers of the disks beside the system disk, in order.
func (m Machine) further() []int {
	var drives []int
	for i := range hardware.MaxDataDisks {
		if drive := hardware.DataDisk(i); m.Config[hardware.SCSIDrive(drive)] != "" {
			drives = append(drives, drive)
		}
	}
	return drives
}

// foreignDisks returns the settings of disks that are on no SCSI controller, sorted; a CD-ROM is none.
func (m Machine) foreignDisks() []string {
	var found []string
	for slot, value := range m.Config {
		isDrive := strings.HasPrefix(slot, "virtio") || strings.HasPrefix(slot, "sata") || strings.HasPrefix(slot, "ide")
		if isDrive && strings.Contains(value, ":") && !strings.Contains(value, "media=cdrom") {
			found = append(found, slot)
		}
	}
	slices.Sort(found)
	return found
}
