// Package hardware describes the computers of an emulated cluster: processors, memory, storages, bridges and devices. Every
// part of the emulation may read it. It can grow while the cluster runs.
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
	// CPUModel is the processor's name that the host reports.
	CPUModel string
	// MemoryMiB is the installed memory.
	MemoryMiB int
	Storages  []Storage
	Bridges   []Bridge
	PCI       []PCIDevice
	Setup     Setup
}

// Storage is a storage of one host. A shared storage is listed at every host that has it, with the same values.
type Storage struct {
	Name string
	Type storage.Type
	// Content are the content types, storage.Images and storage.ISO.
	Content []string
	// TotalBytes is the size; ReservedBytes is in use by files that the lab does not manage.
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

// PCIDevice is a device that can be passed through. IDs are hexadecimal with a leading 0x, as in Proxmox VE.
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
	// Mapping is the initial resource mapping of the device; "" for none. Several devices, of one or of several hosts, may
	// share it.
	Mapping string
}
