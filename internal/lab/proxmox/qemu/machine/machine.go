// Package machine is the boundary between a host and what runs inside its VMs: the hardware that QEMU shows a guest, and what the
// guest agent answers.
package machine

import (
	"context"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
)

// Machines is what runs inside the VMs. The host calls it when a VM's power changes; its methods must be safe for
// concurrent use, and are never called twice at once for the same VM.
type Machines interface {
	// PowerOn boots a machine and returns once it has power, not when it has booted. The context ends with the call.
	PowerOn(ctx context.Context, m Machine) error
	// PowerOff cuts the power at once.
	PowerOff(vmid int)
	// Shutdown presses the power button and returns when the machine is off. A machine that does not react keeps it
	// waiting until the context ends; its error is then returned.
	Shutdown(ctx context.Context, vmid int) error
	// AskAgent asks the guest agent of a machine what it knows; false when nobody answers.
	AskAgent(vmid int) (Guest, bool)
	// ShutdownByAgent has the agent switch the machine off, and waits as Shutdown does.
	ShutdownByAgent(ctx context.Context, vmid int) error
	// Destroy forgets a machine and everything on its disks.
	Destroy(vmid int)
	// ChangeDisks tells a machine that runs which disks it has from now on.
	ChangeDisks(vmid int, disks []Disk)
	// SnapshotDisks keeps what is on disks of a machine under a name. Disks are known by their identities.
	SnapshotDisks(vmid int, disks []string, name string)
	// RollbackDisks puts back what was kept. The machine is off.
	RollbackDisks(vmid int, disks []string, name string)
	// DropDiskSnapshots forgets what was kept.
	DropDiskSnapshots(vmid int, disks []string, name string)
}

// Machine is the hardware that a VM shows its guest, and what the cloud-init drive says.
type Machine struct {
	VMID int
	Name string
	// Host is the node that it runs on.
	Host      string
	CPUs      int
	MemoryMiB int
	// Disks are in the order of the bus and slot; CD-ROMs and EFI variables are none.
	Disks []Disk
	// SCSI is the controller of the SCSI disks, such as "virtio-scsi-pci".
	SCSI string
	NICs []NIC
	// CloudInit is nil without a cloud-init drive.
	CloudInit *CloudInit
	// ISO is the volume in the CD-ROM drive, or "".
	ISO string
	// ISODrive is the drive of the ISO, such as "ide0", or "".
	ISODrive string
	// PCI are the host's devices that are passed through.
	PCI []hardware.PCIDevice
	// BootsFrom are the devices of the boot order, such as "scsi0" and "ide3".
	BootsFrom []string
	// Agent says that QEMU has a port for a guest agent.
	Agent bool
}

// Addresses are those of the devices that are passed through.
func (m Machine) Addresses() []string {
	addresses := make([]string, len(m.PCI))
	for i, device := range m.PCI {
		addresses[i] = device.Address
	}

	return addresses
}

// Disk is a disk of a machine.
type Disk struct {
	// Slot is where it is plugged in, such as "scsi0".
	Slot string
	// ID tells this disk from every other; a recreated VM has new ones, a grown or moved disk keeps its own.
	ID    string
	Bytes uint64
	// Serial that the guest may see, or "".
	Serial string
	// DeviceID is what QEMU is told to call the disk, such as "drive-scsi0", or "".
	DeviceID string
	// SSD says that the disk does not rotate.
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

// Guest is what a guest agent answers about its machine.
type Guest struct {
	Hostname string
	// KernelRelease, KernelVersion and Machine are those of uname.
	KernelRelease, KernelVersion, Machine string
	Interfaces                            []GuestInterface
}

// GuestInterface is a network interface inside the guest.
type GuestInterface struct {
	Name      string
	MAC       net.HardwareAddr
	Addresses []netip.Prefix
}

// None lets VMs run without anything inside; pressing the power button turns them off.
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
