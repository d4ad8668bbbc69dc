package machineconfig

import (
	"fmt"
	"regexp"

	"github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/block"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// DataDisk is a further disk of a node.
type DataDisk struct {
	// Mount is the name of the user volume on it, which is mounted at /var/mnt/<Mount>.
	Mount string
	// Drive is the number of its disk on the SCSI controller: 1 for scsi1.
	Drive int
}

// MaxMountLength is the limit of the label of a user volume's partition, without its prefix.
const MaxMountLength = constants.PartitionLabelLength - len(constants.UserVolumePrefix)

// MountRule describes the names that ValidMount accepts.
var MountRule = fmt.Sprintf("letters, digits and -, at most %d characters", MaxMountLength)

var mountName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// ValidMount reports whether a user volume can have a name (UserVolumeConfigV1Alpha1.Validate in the machinery).
func ValidMount(name string) bool { return len(name) <= MaxMountLength && mountName.MatchString(name) }

// scsiPath returns a pattern for the bus path of a virtio-scsi disk on either of Proxmox VE's two controllers: the LUN is the
// number of the drive (qemu-server, DriveDevice.pm, print_drivedevice_full). Names and serials do not identify it: controllers
// are probed in parallel, so /dev/sda need not be scsi0, and Talos sees no serial on virtio-scsi (decision 12).
func scsiPath(drive int) string { return fmt.Sprintf("*/virtio*:0:0:%d", drive) }

// leastVolume makes Talos wait for the whole disk: the volume grows from this size to the size of the disk.
const leastVolume = "1GiB"

func volumeDocuments(disks []DataDisk) ([]string, error) {
	var documents []string
	for _, disk := range disks {
		document, err := disk.document()
		if err != nil {
			return nil, fmt.Errorf("volume %q: %w", disk.Mount, err)
		}
		documents = append(documents, document)
	}
	return documents, nil
}

func (d DataDisk) document() (string, error) {
	match, err := cel.ParseBooleanExpression(fmt.Sprintf(`disk.transport == "virtio" && glob(%q, disk.bus_path)`, scsiPath(d.Drive)), celenv.DiskLocator())
	if err != nil {
		return "", err
	}
	grow := true
	config := block.NewUserVolumeConfigV1Alpha1()
	config.MetaName = d.Mount
	config.ProvisioningSpec = block.ProvisioningSpec{
		DiskSelectorSpec:    block.DiskSelector{Match: match},
		ProvisioningMinSize: block.MustByteSize(leastVolume),
		ProvisioningGrow:    &grow,
	}
	documents, err := container.New(config)
	if err != nil {
		return "", err
	}
	text, err := documents.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	return string(text), err
}
