package components

import (
	"fmt"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// SCSIController is the controller that the disks of a machine are attached to.
type SCSIController string

const (
	// SCSIVirtIOSingle is one virtio-scsi controller for each disk, with a thread of its own for its input and output.
	SCSIVirtIOSingle SCSIController = "virtio-scsi-single"
	// SCSIVirtIO is one virtio-scsi controller for all disks, which Talos' guide to Proxmox VE asks for: some hosts were seen
	// to hang with the other one (siderolabs/talos#11173).
	SCSIVirtIO SCSIController = "virtio-scsi-pci"
)

// disks returns the drives of a machine. They have no serial: Talos does not see it, and with it the links below
// /dev/disk/by-id would change with the release of Proxmox VE (decision 12).
func disks(m Machine, controller SCSIController) vm.VirtualMachineDiskArray {
	array := vm.VirtualMachineDiskArray{controller.disk(hardware.SystemDisk, m.DiskStorage, m.DiskGiB)}
	for i, data := range m.DataDisks {
		array = append(array, controller.disk(hardware.DataDisk(i), data.Storage, data.SizeGiB))
	}
	return array
}

// disk returns one drive. It has a thread of its own where the controller supports it; elsewhere Proxmox VE would warn at each
// start.
func (c SCSIController) disk(number int, storage string, sizeGiB int) vm.VirtualMachineDiskArgs {
	return vm.VirtualMachineDiskArgs{
		Interface:   pulumi.String(hardware.SCSIDrive(number)),
		DatastoreId: pulumi.String(storage),
		FileFormat:  pulumi.String("raw"),
		Size:        pulumi.Int(sizeGiB),
		Discard:     pulumi.String("on"),
		Iothread:    pulumi.Bool(c == SCSIVirtIOSingle),
		Ssd:         pulumi.Bool(true),
	}
}

func (c SCSIController) validate() error {
	return require(c == SCSIVirtIOSingle || c == SCSIVirtIO, "SCSIController", fmt.Sprintf("%q is unknown: use SCSIVirtIOSingle or SCSIVirtIO", string(c)))
}
