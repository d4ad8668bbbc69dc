package talos

import (
	"errors"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// publishVolumes publishes the volumes, the contents of the disks, and the mounts.
func (s *system) publishVolumes(wanted []wantedVolume) error {
	var errs []error

	statuses, mounts, former := map[resource.ID]bool{}, map[resource.ID]bool{}, map[resource.ID]bool{}

	for _, volume := range wanted {
		spec := s.volumes[volume.id]
		statuses[volume.id] = true

		errs = append(errs, put(s, block.NewVolumeStatus(block.NamespaceName, volume.id), func(r *block.VolumeStatus) {
			r.Metadata().Labels().Set(volume.label, "")
			*r.TypedSpec() = spec
		}))

		if spec.Phase != block.VolumePhaseReady || volume.target == "" {
			continue
		}

		mounts[volume.id] = true

		errs = append(errs, put(s, block.NewMountStatus(block.NamespaceName, volume.id), func(r *block.MountStatus) {
			*r.TypedSpec() = block.MountStatusSpec{
				Spec: block.MountRequestSpec{VolumeID: volume.id}, Source: spec.MountLocation, Target: volume.target, Filesystem: volume.filesystem,
			}
		}))

		// the older resource shows volumes with their own partition or disk (controllers/runtime/mount_status.go)
		if spec.Type != block.VolumeTypePartition && spec.Type != block.VolumeTypeDisk {
			continue
		}

		former[volume.id] = true

		errs = append(errs, put(s, runtime.NewMountStatus(runtime.NamespaceName, volume.id), func(r *runtime.MountStatus) {
			*r.TypedSpec() = runtime.MountStatusSpec{
				Source: spec.MountLocation, Target: volume.target, FilesystemType: volume.filesystem.String(),
			}
		}))
	}

	return errors.Join(append(errs,
		withdrawOthers[*block.VolumeStatus](s, statuses),
		withdrawOthers[*block.MountStatus](s, mounts),
		withdrawOthers[*runtime.MountStatus](s, former),
		s.publishDiscovered(),
	)...)
}

// publishDiscovered publishes each disk, and each partition with its label.
func (s *system) publishDiscovered() error {
	var errs []error

	found := map[resource.ID]bool{}

	for _, d := range s.blockDevices() {
		table := s.partitionsOf(d)
		found[d.name] = true

		errs = append(errs, put(s, block.NewDiscoveredVolume(block.NamespaceName, d.name), func(r *block.DiscoveredVolume) {
			spec := r.TypedSpec()
			spec.DevPath, spec.Type, spec.SectorSize, spec.IOSize, spec.Name = d.path(), block.DeviceTypeDisk, 512, 512, ""
			spec.SetSize(d.Bytes)

			if len(table) > 0 {
				spec.Name = "gpt"
			}
		}))

		offset := uint64(tableBytes / 2)

		for i, p := range table {
			path := d.partitionPath(i + 1)
			id := path[len("/dev/"):]
			found[id] = true

			errs = append(errs, put(s, block.NewDiscoveredVolume(block.NamespaceName, id), func(r *block.DiscoveredVolume) {
				spec := r.TypedSpec()
				spec.DevPath, spec.Type, spec.SectorSize, spec.IOSize = path, block.DeviceTypePartition, 512, 512
				spec.Parent, spec.ParentDevPath, spec.Offset = d.name, d.path(), offset
				spec.PartitionLabel, spec.PartitionIndex, spec.Name = p.Label, uint(i+1), p.Filesystem.String()
				spec.SetSize(p.Bytes)
			}))

			offset += p.Bytes
		}
	}

	return errors.Join(append(errs, withdrawOthers[*block.DiscoveredVolume](s, found))...)
}

// publishDisks publishes the disks with their names in Linux, and the system disk.
func (s *system) publishDisks() error {
	var errs []error

	installed := s.installed()
	present := map[resource.ID]bool{"sr0": s.hardware.ISO != ""}

	for _, d := range s.blockDevices() {
		present[d.name] = true

		errs = append(errs, put(s, block.NewDisk(block.NamespaceName, d.name), func(r *block.Disk) { d.describe(r.TypedSpec()) }))

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
			spec.Model, spec.Transport = "QEMU DVD-ROM", "sata"
			spec.BusPath, spec.SubSystem = ahci+"/ata1/host0/target0:0:0/0:0:0:0", sysfsBlock
		}))
	}

	return errors.Join(append(errs, withdrawOthers[*block.Disk](s, present))...)
}

const sysfsBlock = "/sys/class/block"

// describe sets the fields of the disk as Talos does (v1.12.4, controllers/block/disks.go, analyzeBlockDevice).
func (d device) describe(spec *block.DiskSpec) {
	spec.DevPath = d.path()
	spec.SetSize(d.Bytes)
	spec.IOSize, spec.SectorSize = 512, 512
	spec.Transport, spec.Serial, spec.Rotational = d.transport(), d.serial(), d.Rotational
	spec.BusPath, spec.SubSystem, spec.Symlinks = d.busPath(), sysfsBlock, d.symlinks()

	if d.Bus != BusVirtIO { // virtio-blk has no model, and another modalias
		spec.Model, spec.Modalias = "QEMU HARDDISK", "scsi:t-0x00"
	}
}

// withdrawOthers destroys the resources of a type that are not in stay.
func withdrawOthers[R meta.ResourceWithRD](s *system, stay map[resource.ID]bool) error {
	list, err := safe.StateListAll[R](s.ctx, s.resources)
	if err != nil {
		return err
	}

	var errs []error

	for r := range list.All() {
		if !stay[r.Metadata().ID()] {
			errs = append(errs, withdraw(s, r))
		}
	}

	return errors.Join(errs...)
}
