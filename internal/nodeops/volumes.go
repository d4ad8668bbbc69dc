package nodeops

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// Volume is a volume that a node's configuration requests.
type Volume struct {
	// Name is EPHEMERAL, or that of a user volume, mounted at /var/mnt/NAME.
	Name string `json:"name"`
	// Phase is ready, or how far Talos has come with it (talos, resources/block/volumephase.go).
	Phase string `json:"phase"`
	// Reason is the error message of Talos for a volume that failed.
	Reason string `json:"reason,omitempty"`
	// Drive is the disk of the volume, by its name in Proxmox VE, e.g. scsi1; empty until the volume is on a disk.
	Drive string `json:"drive,omitempty"`
	// Bytes is its size.
	Bytes uint64 `json:"bytes,omitempty"`
	// UnusedBytes is the room behind it on its disk, which Talos gives it at the node's next boot.
	UnusedBytes uint64 `json:"unusedBytes,omitempty"`
}

// Ready reports whether the volume can be used.
func (v Volume) Ready() bool { return v.Phase == block.VolumePhaseReady.String() }

// readDisks reads the drive of the Talos installation and the volumes.
func (o *Observation) readDisks(ctx context.Context, resources state.State) error {
	disks, err := safe.StateListAll[*block.Disk](ctx, resources)
	if state.IsNotFoundError(err) {
		return nil // Talos before v1.8 has no such resources
	}
	if err != nil {
		return err
	}
	system, err := safe.StateGetByID[*block.SystemDisk](ctx, resources, block.SystemDiskID)
	if err != nil && !state.IsNotFoundError(err) {
		return err
	}
	for disk := range disks.All() {
		if system != nil && disk.Metadata().ID() == system.TypedSpec().DiskID {
			o.InstalledOn = driveOf(disk.TypedSpec())
		}
	}
	return o.readVolumes(ctx, resources, disks)
}

func (o *Observation) readVolumes(ctx context.Context, resources state.State, disks safe.List[*block.Disk]) error {
	statuses, err := safe.StateListAll[*block.VolumeStatus](ctx, resources)
	if err != nil {
		return err
	}
	partitions, err := safe.StateListAll[*block.DiscoveredVolume](ctx, resources)
	if err != nil {
		return err
	}
	for status := range statuses.All() {
		_, users := status.Metadata().Labels().Get(block.UserVolumeLabel)
		if !users && status.Metadata().ID() != constants.EphemeralPartitionLabel {
			continue
		}
		spec := status.TypedSpec()
		volume := Volume{
			Name:  strings.TrimPrefix(status.Metadata().ID(), constants.UserVolumePrefix),
			Phase: spec.Phase.String(), Reason: spec.ErrorMessage, Bytes: spec.Size,
		}
		for disk := range disks.All() {
			if path := disk.TypedSpec().DevPath; path == spec.ParentLocation || path == spec.Location {
				volume.Drive = driveOf(disk.TypedSpec())
				volume.UnusedBytes = unused(disk.TypedSpec(), spec, partitions)
			}
		}
		o.Volumes = append(o.Volumes, volume)
	}
	return nil
}

// leastUnused is the space that partition tables and alignment may leave unused.
const leastUnused = 16 << 20

// unused returns the free space behind a partition, if it is the last one of its disk and the space is not negligible.
func unused(disk *block.DiskSpec, volume *block.VolumeStatusSpec, partitions safe.List[*block.DiscoveredVolume]) uint64 {
	var end, last uint64
	for partition := range partitions.All() {
		spec := partition.TypedSpec()
		if spec.ParentDevPath != disk.DevPath {
			continue
		}
		last = max(last, spec.Offset)
		if spec.DevPath == volume.Location {
			end = spec.Offset + spec.Size
		}
	}
	if end <= last || disk.Size < end+leastUnused {
		return 0
	}
	return disk.Size - end
}

// virtioDrive matches the bus path of a virtio-scsi disk. The LUN is the number of the drive (decision 12).
var virtioDrive = regexp.MustCompile(`/virtio\d+/host\d+/target\d+:0:0/\d+:0:0:(\d+)$`)

// driveOf returns the name of a disk in Proxmox VE, or its device path for a disk on another bus.
func driveOf(disk *block.DiskSpec) string {
	match := virtioDrive.FindStringSubmatch(disk.BusPath)
	if match == nil {
		return disk.DevPath
	}
	return fmt.Sprintf("scsi%s", match[1])
}
