package talos

import "strconv"

// Bus is the kind of a disk's controller. It determines the disk's name in Linux.
type Bus string

// Buses of Proxmox VE. An empty Bus means SCSI.
const (
	BusSCSI   Bus = "scsi"
	BusVirtIO Bus = "virtio"
	BusSATA   Bus = "sata"
	BusIDE    Bus = "ide"
)

// SCSIController is the controller of a machine's SCSI disks.
type SCSIController string

// Controllers of Proxmox VE that the lab distinguishes.
const (
	// SCSIVirtIOSingle is one virtio-scsi controller for each disk.
	SCSIVirtIOSingle SCSIController = "virtio-scsi-single"
	// SCSIVirtIO is one virtio-scsi controller for all disks.
	SCSIVirtIO SCSIController = "virtio-scsi-pci"
	// SCSILSI is an emulated LSI 53C895A, the default of Proxmox VE.
	SCSILSI SCSIController = "lsi"
)

// Disk is a virtual disk. Its contents belong to its ID: a disk with another ID is empty.
type Disk struct {
	ID  string `json:"id"`
	Bus Bus    `json:"bus"`
	// Slot is its number on the bus: 1 for scsi1.
	Slot  int    `json:"slot,omitempty"`
	Bytes uint64 `json:"bytes"`
	// Serial that the hypervisor gives it, "" for none.
	Serial string `json:"serial,omitempty"`
	// DeviceID is how QEMU names the disk in its page of identifiers (VPD 0x83), such as drive-scsi1; "" where the host
	// does not say, and QEMU takes the serial or, without one, the drive's name.
	DeviceID string `json:"deviceID,omitempty"`
	// Rotational reports whether the disk is not an SSD.
	Rotational bool `json:"rotational,omitempty"`
}

// drive returns the disk's name on the host, such as scsi1.
func (d Disk) drive() string {
	if d.Bus == "" {
		return string(BusSCSI) + strconv.Itoa(d.Slot)
	}

	return string(d.Bus) + strconv.Itoa(d.Slot)
}

// isSCSI reports whether the disk is on the SCSI controller.
func (d Disk) isSCSI() bool { return d.Bus == "" || d.Bus == BusSCSI }
