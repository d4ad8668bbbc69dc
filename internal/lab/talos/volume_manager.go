package talos

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cosi-project/runtime/pkg/safe"
	blockpb "github.com/siderolabs/talos/pkg/machinery/api/resource/definitions/block"
	"github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/proto"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// progressVolumes provisions the volumes at boot, and when the configuration or the disks change (Talos v1.12.4,
// controllers/block/volume_manager.go, processVolumeConfig). A volume that is ready is not processed again, so a larger disk
// is used from the next boot on. A volume without a disk is "failed". That concerns the volume only: the configuration was
// applied, and the node continues.
func (s *system) progressVolumes() error {
	s.provisioning.Lock()
	defer s.provisioning.Unlock()

	wanted, err := wantedVolumes(s.config())
	if err != nil {
		return err
	}

	var errs []error

	systemReady := true

	for _, volume := range wanted {
		status, known := s.volumes[volume.id]
		if known && status.Phase == block.VolumePhaseReady {
			continue
		}

		status = block.VolumeStatusSpec{Phase: block.VolumePhaseWaiting, Type: volume.kind}
		if volume.label == block.SystemVolumeLabel || systemReady {
			errs = append(errs, s.progress(volume, &status))
		}

		if volume.label == block.SystemVolumeLabel && volume.selector != nil && status.Phase != block.VolumePhaseReady {
			systemReady = false
		}

		s.volumes[volume.id] = status
	}

	maps.DeleteFunc(s.volumes, func(id string, _ block.VolumeStatusSpec) bool {
		return !slices.ContainsFunc(wanted, func(v wantedVolume) bool { return v.id == id })
	})

	return errors.Join(append(errs, s.publishVolumes(wanted))...)
}

// progress finds or creates the volume. The error is the emulation's own; a problem of the volume is in its status.
func (s *system) progress(volume wantedVolume, status *block.VolumeStatusSpec) error {
	if volume.kind == block.VolumeTypeDirectory {
		status.Phase = block.VolumePhaseReady

		return nil
	}

	found, ok := s.locate(volume)
	if !ok && volume.selector == nil {
		status.Phase = block.VolumePhaseMissing

		return nil
	}

	if !ok {
		d, refusal := s.diskFor(volume)
		if refusal != nil {
			status.PreFailPhase, status.Phase, status.ErrorMessage = status.Phase, block.VolumePhaseFailed, refusal.Error()

			return nil
		}

		if err := s.provision(volume, d); err != nil {
			return err
		}

		found, _ = s.locate(volume)
	}

	size, err := s.grow(volume, found)
	if err != nil {
		return err
	}

	status.Phase, status.Filesystem, status.PartitionIndex = block.VolumePhaseReady, volume.filesystem, found.number
	status.Location = found.path()
	status.MountLocation = status.Location
	status.SetSize(size)

	if found.number > 0 {
		status.ParentLocation = found.device.path()
	}

	return nil
}

// place is the location of a volume: a partition, or a whole disk if number is 0.
type place struct {
	device device
	number int
}

func (p place) path() string {
	if p.number == 0 {
		return p.device.path()
	}

	return p.device.partitionPath(p.number)
}

// locate finds a partition by its label, regardless of the current selector.
func (s *system) locate(volume wantedVolume) (place, bool) {
	for _, d := range s.blockDevices() {
		if number := numberOf(volume.id, s.partitionsOf(d)); number > 0 {
			if volume.kind == block.VolumeTypeDisk {
				number = 0
			}

			return place{device: d, number: number}, true
		}
	}

	return place{}, false
}

// partitionsOf returns the partition table of a disk.
func (s *system) partitionsOf(d device) []partition {
	if written := s.fleet.written(d.ID); written != nil {
		return written.read().Partitions
	}

	return nil
}

// diskFor returns the first disk that matches the selector and has enough space, or Talos' error if there is none
// (internal/volumes/locate.go, LocateAndProvision).
func (s *system) diskFor(volume wantedVolume) (device, error) {
	var matched []device

	for _, d := range s.blockDevices() {
		matches, err := s.matches(volume.selector, d)
		if err != nil {
			return device{}, fmt.Errorf("error evaluating disk locator: %w", err)
		}

		if matches {
			matched = append(matched, d)
		}
	}

	switch {
	case len(matched) == 0:
		return device{}, errors.New("no disks matched selector for volume")
	case volume.kind == block.VolumeTypeDisk && len(matched) > 1:
		return device{}, fmt.Errorf("multiple disks matched selector for disk volume; matched disks: %v", paths(matched))
	}

	for _, d := range matched {
		if table := s.partitionsOf(d); volume.kind != block.VolumeTypeDisk && unallocated(d.Bytes, table) >= volume.size.MinSize || len(table) == 0 && volume.kind == block.VolumeTypeDisk {
			return d, nil
		}
	}

	full, formatted := len(matched), 0
	if volume.kind == block.VolumeTypeDisk {
		full, formatted = 0, len(matched)
	}

	return device{}, fmt.Errorf("no disks matched for volume (%d matched selector): %d have not enough space, %d have wrong format, %d have other issues",
		len(matched), full, formatted, 0)
}

func paths(devices []device) []string {
	list := make([]string, len(devices))
	for i, d := range devices {
		list[i] = d.path()
	}

	return list
}

// matches evaluates a selector in the environment of Talos: system_disk is undefined before the installation.
func (s *system) matches(selector *cel.Expression, d device) (bool, error) {
	published, err := safe.StateGetByID[*block.Disk](s.ctx, s.resources, d.name)
	if err != nil {
		return false, err
	}

	var spec blockpb.DiskSpec
	if err := proto.ResourceSpecToProto(published, &spec); err != nil {
		return false, err
	}

	facts := map[string]any{"disk": &spec}
	if installed := s.installed(); installed != nil {
		facts["system_disk"] = installed.read().ID == d.ID
	}

	return selector.EvalBool(celenv.DiskLocator(), facts)
}

// provision creates the volume's partition with the maximum size. A disk volume is recorded as one partition without a
// number.
func (s *system) provision(volume wantedVolume, d device) error {
	size := unallocated(d.Bytes, s.partitionsOf(d))
	if limit := volume.size.ResolveMaxSize(size); limit > 0 {
		size = min(size, limit)
	}

	made := partition{Label: volume.id, Bytes: size, Filesystem: volume.filesystem}

	written := s.fleet.written(d.ID)
	if written == nil {
		_, err := s.fleet.format(contents{ID: d.ID, Partitions: []partition{made}})

		return err
	}

	return written.change(func(c *contents) { c.Partitions = append(slices.Clone(c.Partitions), made) })
}

// grow extends the last partition of a disk to the end of the disk, if the volume requests it (internal/volumes/grow.go). It
// returns the volume's size.
func (s *system) grow(volume wantedVolume, p place) (uint64, error) {
	if p.number == 0 {
		return p.device.Bytes, nil
	}

	const leastGrowth = 1 << 20

	table := s.partitionsOf(p.device)
	size := table[p.number-1].Bytes
	room := unallocated(p.device.Bytes, table)

	if limit := volume.size.MaxSize; limit > 0 {
		room = min(room, limit-min(limit, size))
	}

	if !volume.size.Grow || p.number != len(table) || room <= leastGrowth {
		return size, nil
	}

	return size + room, s.fleet.written(p.device.ID).change(func(c *contents) {
		c.Partitions = slices.Clone(c.Partitions)
		c.Partitions[p.number-1].Bytes += room
	})
}

// systemVolumeLabels are the partitions for which Talos keeps a volume status.
func systemVolumeLabels() []string {
	return []string{constants.MetaPartitionLabel, constants.StatePartitionLabel, constants.EphemeralPartitionLabel}
}
