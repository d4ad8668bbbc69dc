// Package hardware describes the computers of an emulated cluster: their processors and memory, their storages, bridges and
// devices. It is data that every part of the emulation may read, and grows while the cluster runs.
package hardware

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// Host is one node.
type Host struct {
	// Name is the node's name, such as "vmhost".
	Name string
	// Cores is the number of CPU threads.
	Cores int
	// CPUModel is the processor's name as the host shows it.
	CPUModel string
	// MemoryMiB is the installed memory.
	MemoryMiB int
	Storages  []Storage
	Bridges   []Bridge
	PCI       []PCIDevice
}

// Storage is a storage as one host has it. A shared one stands at every host that has it, with the same facts.
type Storage struct {
	Name string
	Type storage.Type
	// Content are the content types, storage.Images and storage.ISO.
	Content []string
	// TotalBytes is its size, ReservedBytes what others have filled of it.
	TotalBytes, ReservedBytes uint64
	Shared                    bool
	// Path is the folder of a file-based storage.
	Path string
}

// Bridge is a Linux bridge of a host.
type Bridge struct {
	Name      string
	Ports     []string
	Address   netip.Prefix
	Gateway   netip.Addr
	VLANAware bool
}

// PCIDevice is a device that may be passed through. IDs are hexadecimal with a leading 0x, as Proxmox VE lists them.
type PCIDevice struct {
	// Address is domain:bus:slot.function, such as "0000:01:00.0".
	Address string
	// Class is the PCI class, such as 0x030000 for a display controller.
	Class                            string
	Vendor, Device                   string
	SubsystemVendor, SubsystemDevice string
	VendorName, DeviceName           string
	IOMMUGroup                       int
	MediatedDevices                  bool
	// Mapping is the resource mapping that names the device from the start; "" for none. Devices of several hosts, or
	// several of one, may share it.
	Mapping string
}
