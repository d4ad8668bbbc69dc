// Package machine is the boundary between a host and the inside of its VMs: the virtual hardware that a guest sees, and the
// answers of the guest agent.
package machine

import (
	"context"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// Machines runs the inside of the VMs. The host calls it when a VM's power changes. Its methods must be safe for concurrent
// use, and are never called concurrently for the same VM.
type Machines interface {
	// PowerOn boots a machine. It returns once the machine has power, not when it has booted. The context ends with the call.
	PowerOn(ctx context.Context, m Machine) error
	// PowerOff cuts the power at once.
	PowerOff(vmid int)
	// Shutdown presses the power button and returns when the machine is off. If the machine does not react, it waits until
	// the context ends and returns the context's error.
	Shutdown(ctx context.Context, vmid int) error
	// AskAgent returns the answer of a machine's guest agent; false without an answer.
	AskAgent(vmid int) (Guest, bool)
	// ShutdownByAgent makes the agent shut the machine down, and waits like Shutdown.
	ShutdownByAgent(ctx context.Context, vmid int) error
	// Destroy removes a machine and the content of its disks.
	Destroy(vmid int)
	// ChangeDisks passes the new disks to a running machine.
	ChangeDisks(vmid int, disks []Disk)
	// SnapshotDisks stores the content of disks of a machine under a name. Disks are identified by their identities.
	SnapshotDisks(vmid int, disks []string, name string)
	// RollbackDisks restores the stored content. The machine is off.
	RollbackDisks(vmid int, disks []string, name string)
	// DropDiskSnapshots deletes the stored content.
	DropDiskSnapshots(vmid int, disks []string, name string)
}

// Machine is the virtual hardware of a VM, and the content of its cloud-init drive.
type Machine struct {
	VMID int
	Name string
	// UUID of the firmware, in smbios1; "" for none.
	UUID string
	// Host is the node that it runs on.
	Host      string
	CPUs      int
	MemoryMiB int
	// Disks are in the order of the bus and slot, without CD-ROMs and EFI variables.
	Disks []Disk
	// SCSI is the controller of the SCSI disks, such as "virtio-scsi-pci".
	SCSI string
	NICs []NIC
	// CloudInit is nil without a cloud-init drive.
	CloudInit *CloudInit
	// ISO is the volume in the CD-ROM drive, or "".
	ISO string
	// ISOOrigin is the name of the file that the ISO stands in for, "" for one that was downloaded.
	ISOOrigin string
	// ISODrive is the drive of the ISO, such as "ide0", or "".
	ISODrive string
	// PCI are the host's devices that are passed through.
	PCI []hardware.PCIDevice
	// BootsFrom are the devices of the boot order, such as "scsi0" and "ide3".
	BootsFrom []string
	// Agent reports whether QEMU has a port for a guest agent.
	Agent bool
}

// Addresses returns the addresses of the passed-through devices.
func (m Machine) Addresses() []string {
	addresses := make([]string, len(m.PCI))
	for i, device := range m.PCI {
		addresses[i] = device.Address
	}

	return addresses
}

// Disk is a disk of a machine.
type Disk struct {
	// Slot of the disk, such as "scsi0".
	Slot string
	// ID identifies the disk: a recreated VM has new ones, a grown or moved disk keeps its own.
	ID    string
	Bytes uint64
	// Origin is the name of the imported file whose system the disk contains, or of the ISO that it was installed from; "" for a disk that is
	// blank, or has Talos.
	Origin string
	// Serial that the guest may see, or "".
	Serial string
	// DeviceID is the device ID that QEMU gets, such as "drive-scsi0", or "".
	DeviceID string
	// SSD reports whether the disk does not rotate.
	SSD bool
}

// NIC is a network card of a machine.
type NIC struct {
	MAC    net.HardwareAddr
	Bridge string
}

// CloudInit is what the cloud-init drive configures.
type CloudInit struct {
	Hostname    string
	Nameservers []netip.Addr
	// NICs has one entry per network card; one without static addresses is empty.
	NICs []CloudInitNIC
}

// CloudInitNIC is the addressing of one card.
type CloudInitNIC struct {
	Addresses []netip.Prefix
	Gateways  []netip.Addr
}

// Guest is the answer of a guest agent about its machine.
type Guest struct {
	Hostname string
	// KernelRelease, KernelVersion and Machine have the values of uname.
	KernelRelease, KernelVersion, Machine string
	Interfaces                            []GuestInterface
}

// GuestInterface is a network interface inside the guest.
type GuestInterface struct {
	Name      string
	MAC       net.HardwareAddr
	Addresses []netip.Prefix
}

// None runs VMs with nothing inside. The power button turns them off.
type None struct{}

func (None) PowerOn(context.Context, Machine) error { return nil }
func (None) PowerOff(int)                           {}
func (None) Shutdown(context.Context, int) error    { return nil }
func (None) Destroy(int)                            {}

func (None) AskAgent(int) (Guest, bool)                 { return Guest{}, false }
func (None) ShutdownByAgent(context.Context, int) error { return nil }

func (None) ChangeDisks(int, []Disk)                 {}
func (None) SnapshotDisks(int, []string, string)     {}
func (None) RollbackDisks(int, []string, string)     {}
func (None) DropDiskSnapshots(int, []string, string) {}

var _ Machines = None{}
