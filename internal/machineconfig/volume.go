package machineconfig

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/cel"
	"github.com/siderolabs/talos/pkg/machinery/cel/celenv"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/types/block"
)

// Volume is a data disk of a node.
type Volume struct {
	// Name of the volume; it is mounted at /var/mnt/<name>.
	Name string
	// Serial of the disk, as the hypervisor shows it. Names such as sdb change with the hardware, this does not.
	Serial string
}

// leastVolume makes Talos wait for the whole disk: the volume grows from it to what the disk has.
const leastVolume = "1GiB"

func volumeDocuments(volumes []Volume) ([]string, error) {
	var documents []string
	for _, volume := range volumes {
		document, err := volume.document()
		if err != nil {
			return nil, fmt.Errorf("volume %q: %w", volume.Name, err)
		}
		documents = append(documents, document)
	}
	return documents, nil
}

func (v Volume) document() (string, error) {
	match, err := cel.ParseBooleanExpression(fmt.Sprintf("disk.serial == %q", v.Serial), celenv.DiskLocator())
	if err != nil {
		return "", err
	}
	grow := true
	config := block.NewUserVolumeConfigV1Alpha1()
	config.MetaName = v.Name
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
