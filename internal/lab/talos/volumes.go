package talos

import (
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// partition is a partition of an installed disk.
type partition struct {
	label      string
	bytes      uint64
	filesystem block.FilesystemType
}

// partitions is the layout that the installer writes for firmware without UEFI: sizes from machinery imager/quirks,
// order from Talos' internal/pkg/partition. The last one takes what is left.
func partitions(talosVersion string, diskBytes uint64) []partition {
	sizes := quirks.New(talosVersion).PartitionSizes()

	layout := []partition{
		{constants.EFIPartitionLabel, sizes.GrubEFISize(), block.FilesystemTypeVFAT},
		{constants.BIOSGrubPartitionLabel, sizes.GrubBIOSSize(), block.FilesystemTypeNone},
		{constants.BootPartitionLabel, sizes.GrubBootSize(), block.FilesystemTypeXFS},
		{constants.MetaPartitionLabel, sizes.METASize(), block.FilesystemTypeNone},
		{constants.StatePartitionLabel, sizes.StateSize(), block.FilesystemTypeXFS},
	}

	left := diskBytes - min(diskBytes, minimumBytes(talosVersion)-sizes.EphemeralMinSize())

	return append(layout, partition{constants.EphemeralPartitionLabel, left, block.FilesystemTypeXFS})
}

// minimumBytes is the smallest disk that the partitions fit on.
func minimumBytes(talosVersion string) uint64 {
	sizes := quirks.New(talosVersion).PartitionSizes()

	// UKIEFISize is the sum of the first three partitions, whichever of the two layouts is written
	return sizes.UKIEFISize() + sizes.METASize() + sizes.StateSize() + sizes.EphemeralMinSize()
}

// volumes are the partitions that Talos keeps a volume status for.
func volumes() []string {
	return []string{constants.MetaPartitionLabel, constants.StatePartitionLabel, constants.EphemeralPartitionLabel}
}

// publishVolumes publishes the volumes of the system disk, or that they are missing.
func (s *system) publishVolumes() error {
	installed := s.installed()
	if installed == nil {
		return s.publishMissingVolumes()
	}

	var system device

	for _, d := range s.hardware.devices() {
		if d.ID == installed.read().ID {
			system = d
		}
	}

	var errs []error

	for i, p := range partitions(s.release.Version, system.Bytes) {
		if p.label == constants.EFIPartitionLabel || p.label == constants.BIOSGrubPartitionLabel || p.label == constants.BootPartitionLabel {
			continue
		}

		errs = append(errs, put(s, block.NewVolumeStatus(block.NamespaceName, p.label), func(r *block.VolumeStatus) {
			spec := r.TypedSpec()
			spec.Phase, spec.Type = block.VolumePhaseReady, block.VolumeTypePartition
			spec.PartitionIndex = i + 1
			spec.ParentLocation = system.path()
			spec.Location = fmt.Sprintf("%s%d", system.path(), i+1)
			spec.MountLocation = spec.Location
			spec.Filesystem = p.filesystem
			spec.SetSize(p.bytes)
		}))
	}

	return errors.Join(errs...)
}

func (s *system) publishMissingVolumes() error {
	var errs []error

	for _, label := range volumes() {
		errs = append(errs, put(s, block.NewVolumeStatus(block.NamespaceName, label), func(r *block.VolumeStatus) {
			*r.TypedSpec() = block.VolumeStatusSpec{Phase: block.VolumePhaseMissing, Type: block.VolumeTypePartition}
		}))
	}

	return errors.Join(errs...)
}

// publishDisks publishes the disks under the names that Linux gives them, and which of them is the system disk.
func (s *system) publishDisks() error {
	var errs []error

	installed := s.installed()

	for _, d := range s.hardware.devices() {
		errs = append(errs, put(s, block.NewDisk(block.NamespaceName, d.name), func(r *block.Disk) {
			spec := r.TypedSpec()
			spec.DevPath = d.path()
			spec.SetSize(d.Bytes)
			spec.IOSize, spec.SectorSize = 512, 512
			spec.Model, spec.Transport = "QEMU HARDDISK", "virtio"
			spec.SubSystem = "/sys/class/block"
		}))

		if installed == nil || installed.read().ID != d.ID {
			continue
		}

		errs = append(errs, put(s, block.NewSystemDisk(block.NamespaceName, block.SystemDiskID), func(r *block.SystemDisk) {
			r.TypedSpec().DiskID, r.TypedSpec().DevPath = d.name, d.path()
		}))
	}

	if s.hardware.ISO != "" {
		errs = append(errs, put(s, block.NewDisk(block.NamespaceName, "sr0"), func(r *block.Disk) {
			spec := r.TypedSpec()
			spec.DevPath, spec.CDROM, spec.Readonly = "/dev/sr0", true, true
			spec.Model, spec.Transport = "QEMU DVD-ROM", "ata"
		}))
	}

	return errors.Join(errs...)
}
