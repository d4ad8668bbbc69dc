// Package limits contains the limits of Proxmox VE and of the provider: ranges of numbers, counts of devices and the forms of
// names. The inventory checks YAML with it, components their arguments, and the lab its requests. Pure.
package limits

import (
	"fmt"
	"math"
)

// Range is the range from Min to Max, inclusive.
type Range struct{ Min, Max int }

// Contains reports whether a number is within the range.
func (r Range) Contains(n int) bool { return n >= r.Min && n <= r.Max }

// String returns the range for a message, e.g. 100 to 999999999.
func (r Range) String() string {
	if r.Max == math.MaxInt {
		return fmt.Sprintf("%d or more", r.Min)
	}
	return fmt.Sprintf("%d to %d", r.Min, r.Max)
}

// The numbers of Proxmox VE.
var (
	// VMID of a machine or a template (pve-common, JSONSchema.pm, pve-vmid).
	VMID = Range{100, 999_999_999}
	// VLAN is the tag of a network card that has one (qemu-server, QemuServer/Network.pm, $net_fmt).
	VLAN = Range{1, 4094}
	// MTU in bytes. The largest is Proxmox VE's own (qemu-server, QemuServer/Network.pm, $net_fmt); the smallest is the minimum of
	// every IPv4 host (RFC 791, section 3.1), while in Proxmox VE 1 means the MTU of the bridge.
	MTU = Range{576, 65520}
)

// HostMTU is the MTU in bytes of an interface of a host (pve-manager, PVE/API2/Network.pm, create_network).
var HostMTU = Range{1280, 65520}

// DeviceMTU is the MTU in bytes that Proxmox VE assumes for an interface without one (pve-common, PVE/Network/Interfaces.pm, check_mtu).
const DeviceMTU = 1500

// IPv6MTU is the smallest MTU in bytes that carries IPv6 (RFC 8200, section 5).
const IPv6MTU = 1280

// The numbers of the provider (bpg/terraform-provider-proxmox v0.69.1, proxmoxtf/resource/vm/vm.go).
var (
	// Sockets of a machine.
	Sockets = Range{1, 16}
	// Cores of each socket.
	Cores = Range{1, 2304}
	// MemoryMiB is the memory in MiB. The provider accepts 64 or more; Talos needs far more.
	MemoryMiB = Range{1, 268435456}
	// ContainerCores are the cores of a container (the same, proxmoxtf/resource/container/container.go, v0.73.0).
	ContainerCores = Range{1, 128}
	// SwapMiB is the swap of a container in MiB, as the provider accepts it.
	SwapMiB = Range{0, 268435456}
	// DiskGiB is the size of a disk in GiB.
	DiskGiB = Range{1, math.MaxInt}
)

// How many of each kind of device a machine can have.
const (
	// IDEDrives are ide0 to ide3 (qemu-server, QemuServer/Drive.pm, $MAX_IDE_DISKS).
	IDEDrives = 4
	// SATADrives are sata0 to sata5 (qemu-server, QemuServer/Drive.pm, $MAX_SATA_DISKS).
	SATADrives = 6
	// SCSIDrives are scsi0 to scsi30 (qemu-server, QemuServer/Drive.pm, $MAX_SCSI_DISKS).
	SCSIDrives = 31
	// VirtIODrives are virtio0 to virtio15 (qemu-server, QemuServer/Drive.pm, $MAX_VIRTIO_DISKS).
	VirtIODrives = 16
	// NICs are net0 to net31 (qemu-server, QemuServer.pm, $MAX_NETS); the provider takes as many.
	NICs = 32
	// ContainerNICs are the network cards of a container that the provider takes, which are fewer than Proxmox VE's (bpg/terraform-provider-proxmox
	// v0.73.0, proxmoxtf/resource/container/container.go, maxResourceVirtualEnvironmentContainerNetworkInterfaces).
	ContainerNICs = 8
	// PCIDevices that are passed through are hostpci0 to hostpci15 (qemu-server, QemuServer/PCI.pm, $MAX_HOSTPCI_DEVICES).
	PCIDevices = 16
	// Disks are the provider's limit, which is lower than Proxmox VE's (bpg/terraform-provider-proxmox v0.69.1,
	// proxmoxtf/resource/vm/disk/schema.go).
	Disks = 14
)
