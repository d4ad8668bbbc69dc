package talos

import (
	"cmp"
	"path"

	"github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
	"github.com/siderolabs/talos/pkg/machinery/config"
	document "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/imager/quirks"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
)

// wantedVolume is a volume that a configuration requests.
type wantedVolume struct {
	id    string
	kind  block.VolumeType
	label string // label of the resource
	// selector matches the disk for a new volume; nil for a volume that is never created.
	selector   *cel.Expression
	size       block.PartitionSpec
	filesystem block.FilesystemType
	target     string // mount point, "" for none
}

// minimumUserVolume is the minimum size of a user volume, in bytes (volumeconfig/user_volumes.go).
const minimumUserVolume = 100 << 20

// wantedVolumes returns the volumes of Talos v1.12.4 that have a device (controllers/block/internal/volumes/volumeconfig), in
// the order in which they are provisioned: META, STATE, and with a configuration EPHEMERAL and the user volumes.
func wantedVolumes(cfg config.Provider) ([]wantedVolume, error) {
	wanted := []wantedVolume{
		{id: constants.MetaPartitionLabel, kind: block.VolumeTypePartition, label: block.SystemVolumeLabel},
		{
			id: constants.StatePartitionLabel, kind: block.VolumeTypePartition, label: block.SystemVolumeLabel,
			filesystem: block.FilesystemTypeXFS, target: constants.StateMountPoint,
		},
	}
	if cfg == nil || cfg.RawV1Alpha1() == nil {
		return wanted, nil
	}

	onSystemDisk, err := cel.ParseBooleanExpression("system_disk", celenv.DiskLocator())
	if err != nil {
		return nil, err
	}

	wanted = append(wanted, ephemeral(cfg, onSystemDisk))
	for _, volume := range cfg.UserVolumeConfigs() {
		wanted = append(wanted, userVolume(volume))
	}

	return wanted, nil
}

func ephemeral(cfg config.Provider, onSystemDisk cel.Expression) wantedVolume {
	own, _ := cfg.Volumes().ByName(constants.EphemeralPartitionLabel)
	selector := own.Provisioning().DiskSelector().ValueOr(onSystemDisk)

	return wantedVolume{
		id: constants.EphemeralPartitionLabel, kind: block.VolumeTypePartition, label: block.SystemVolumeLabel,
		selector: &selector,
		size: block.PartitionSpec{
			MinSize: own.Provisioning().MinSize().ValueOr(quirks.New("").PartitionSizes().EphemeralMinSize()),
			MaxSize: own.Provisioning().MaxSize().ValueOrZero(), RelativeMaxSize: own.Provisioning().RelativeMaxSize().ValueOrZero(),
			Grow: own.Provisioning().Grow().ValueOr(true),
		},
		filesystem: block.FilesystemTypeXFS, target: constants.EphemeralMountPoint,
	}
}

// userVolume returns the volume of a UserVolumeConfig document: a partition by default.
func userVolume(volume document.UserVolumeConfig) wantedVolume {
	wanted := wantedVolume{
		id: constants.UserVolumePrefix + volume.Name(), kind: volume.Type().ValueOr(block.VolumeTypePartition),
		label: block.UserVolumeLabel, target: path.Join(constants.UserVolumeMountPoint, volume.Name()),
	}
	if wanted.kind == block.VolumeTypeDirectory {
		return wanted
	}

	selector := volume.Provisioning().DiskSelector().ValueOr(noMatch)
	wanted.selector, wanted.filesystem = &selector, volume.Filesystem().Type()
	wanted.size = block.PartitionSpec{
		MinSize: cmp.Or(volume.Provisioning().MinSize().ValueOrZero(), minimumUserVolume),
		MaxSize: volume.Provisioning().MaxSize().ValueOrZero(), RelativeMaxSize: volume.Provisioning().RelativeMaxSize().ValueOrZero(),
		Grow: volume.Provisioning().Grow().ValueOrZero(),
	}

	return wanted
}

var noMatch = cel.MustExpression(cel.ParseBooleanExpression("false", celenv.Empty()))
