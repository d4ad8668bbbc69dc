package components

import (
	"cmp"
	"net"
	"net/netip"
	"slices"

	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Role is the role of a machine in its cluster.
type Role string

const (
	// RoleControlPlane runs etcd and the Kubernetes control plane.
	RoleControlPlane Role = "control-plane"
	// RoleWorker runs pods.
	RoleWorker Role = "worker"
)

// Machine is one machine of a cluster. All of it is known before anything exists, so that a preview is complete.
type Machine struct {
	// Name of the machine in Proxmox VE and its hostname. Required. The name is part of its identity in Pulumi, so a change
	// replaces the machine, if [TalosClusterArgs.FormerNames] contains its former name.
	Name string
	// Role in the cluster. Required. A change replaces the machine: a worker at once, a control plane with --allow-replace NODE of em-infra.
	Role Role
	// Host is the Proxmox VE node that it runs on. Required. A change migrates the machine without a reboot; the other host
	// needs storages of the same names. Proxmox VE refuses to migrate a machine with a GPU, or with an ISO on a storage that
	// the hosts do not share; it then stays where it is (F23, qemu-server, QemuMigrate.pm).
	Host string
	// VMID is its number in Proxmox VE, 100 to 999999999. Required. A change replaces the machine: a worker at once, a
	// control plane with --allow-replace NODE of em-infra.
	VMID int
	// MAC of its network card. Required. A change reboots the machine.
	MAC net.HardwareAddr
	// Addresses with the length of their subnets, at most one for each IP family. The Talos API is reached at the first.
	// Required. A change replaces the machine, which would keep the former address beside the new one: a worker at once, a control
	// plane with --allow-replace NODE of em-infra. A longer or shorter subnet reboots the machine.
	Addresses []netip.Prefix
	// Sockets of the machine. Default: 1. A change reboots it.
	Sockets int
	// Cores of each socket. Required. A change reboots the machine.
	Cores int
	// CPUType that the machine sees, e.g. host. Default: host for a machine with GPUs, which runs on no other, else
	// x86-64-v2-AES. A change reboots it.
	CPUType string
	// MemoryMiB is its memory in MiB, without balloon. Required. A change reboots the machine.
	MemoryMiB int
	// DiskGiB is the size of the system disk in GiB. Required. A change grows it in place, without a reboot, and Talos uses the
	// additional space from the node's next boot on (talos v1.12.4, volume_manager.go); it cannot shrink.
	DiskGiB int
	// DiskStorage holds the system disk and the cloud-init drive. Required. A change stops the machine, moves the system disk
	// and starts it again; the other drives stay.
	DiskStorage string
	// DataDisks are further disks, mounted by Talos. Default: none. A change can append some, without a reboot. The provider
	// removes no disk (bpg/terraform-provider-proxmox, vmUpdateDiskLocationAndSize): to remove one, remove the worker and add it
	// again, without its data.
	DataDisks []DataDisk
	// NICs are further network cards. Default: none. A change reboots the machine.
	NICs []NIC
	// GPUs that are passed through to it, at most 16. Default: none. A machine with GPUs is a worker, and created as a
	// [GpuWorker]. A change reboots it.
	GPUs []GPU
	// Driver of the GPUs. Default: NVIDIAProprietary if a Device is of Maxwell, Pascal or Volta, else NVIDIAOpen; none without
	// GPUs. A change takes effect with an upgrade of the node to another InstallerImage.
	Driver NVIDIADriver
	// Tags in Proxmox VE, sorted. Default: none. A change is made in place.
	Tags []string
	// Startup is its place in the order at boot and shutdown of the host. Default: nil, none. A change is made in place.
	Startup *Startup
	// Labels of the Kubernetes node. Default: none. A change is applied without a reboot.
	Labels map[string]string
	// Taints of the Kubernetes node, key to value:effect. Default: none. A change is applied to a control plane without a
	// reboot; a worker has the taints with which it registered.
	Taints map[string]string
	// Patches are raw Talos machine-config patches, merged last. Default: none. A change is applied in place, with a reboot
	// where Talos needs one.
	Patches []string
	// OffAtBoot keeps the machine off when its host boots. Default: false, it is started. A change is made in place.
	OffAtBoot bool
	// Protect forbids the deletion of the node: its VM, its configuration and its membership. Default: false, or the cluster's own
	// protection. A change changes nothing on the host.
	Protect bool
}

// DataDisk is a further disk of a machine.
type DataDisk struct {
	// SizeGiB is its size in GiB. Required. A change grows it in place, without a reboot, and Talos uses the additional space from
	// the node's next boot on; it cannot shrink.
	SizeGiB int
	// Storage that holds it. Required. A change stops the machine, moves the disk and starts it again.
	Storage string
	// Mount is the name of the Talos user volume on it, mounted at /var/mnt/<Mount>. Required. A change
	// unmounts the volume and makes no other: it fills its disk, where Talos needs room for the new name.
	Mount string
}

// NIC is a further network card of a machine.
type NIC struct {
	// MAC of the card. Required. A change reboots the machine.
	MAC net.HardwareAddr
	// Bridge of Proxmox VE. Required. A change reboots the machine.
	Bridge string
	// VLAN tag. Default: 0, untagged. A change reboots the machine.
	VLAN int
	// Address with the length of its subnet. Default: the zero value, none. A change is applied without a reboot.
	Address netip.Prefix
	// MTU in bytes. Default: 1500. A change reboots the machine.
	MTU int
}

// Addressing is how a machine gets its address at first boot. Its configuration contains the same address.
type Addressing string

const (
	// AddressingNoCloud writes it to the cloud-init drive.
	AddressingNoCloud Addressing = "nocloud"
	// AddressingDHCP relies on a DHCP reservation for the machine's MAC, which the user makes.
	AddressingDHCP Addressing = "dhcp"
)

// Startup is the place of a machine in the order at boot and shutdown of the host. A change is made in place.
type Startup struct {
	// Order: lower numbers start first and stop last. Default: 0.
	Order int
	// UpDelaySeconds, in seconds, pass before the next machine starts. Default: 0.
	UpDelaySeconds int
	// DownDelaySeconds is how long the host waits for the machine to stop, in seconds. Default: 0, the host's own 180.
	DownDelaySeconds int
}

// NodeNetwork is the network that the machines of a cluster share.
type NodeNetwork struct {
	// Subnets hold the machines' addresses, one for each IP family. Required. A change is applied in place; it decides which
	// addresses etcd and the kubelets use (F27).
	Subnets []netip.Prefix
	// Gateways are the default routes, one for each IP family. Required. A change takes effect at once, and reboots the
	// machines one after the other for their cloud-init drives.
	Gateways []netip.Addr
	// Nameservers answer DNS queries. Default: none in the configuration, so the nodes use those of their cloud-init drive or of DHCP. A
	// change is applied without a reboot, and the drive keeps the first ones: a list that is emptied leaves the nodes with those.
	Nameservers []netip.Addr
	// TimeServers are NTP servers. Default: Talos' own. A change is applied without a reboot.
	TimeServers []string
	// Addressing at first boot. Default: AddressingNoCloud. A change reboots the machines one after the other.
	Addressing Addressing
	// Bridge of Proxmox VE. Required. A change reboots the machines.
	Bridge string
	// VLAN tag. Default: 0, untagged. A change reboots the machines.
	VLAN int
	// MTU in bytes. Default: 1500. A change reboots the machines.
	MTU int
}

func (m Machine) withDefaults() Machine {
	if m.Sockets == 0 {
		m.Sockets = 1
	}
	if len(m.GPUs) > 0 {
		m.CPUType = cmp.Or(m.CPUType, hardware.GPUCPUType)
		m.Driver = cmp.Or(m.Driver, m.recommendedDriver())
	}
	m.CPUType = cmp.Or(m.CPUType, hardware.CPUType)
	m.NICs = slices.Clone(m.NICs)
	for i := range m.NICs {
		m.NICs[i].MTU = cmp.Or(m.NICs[i].MTU, hardware.MTU)
	}
	return m
}

func (n NodeNetwork) withDefaults() NodeNetwork {
	if n.MTU == 0 {
		n.MTU = hardware.MTU
	}
	n.Addressing = cmp.Or(n.Addressing, AddressingNoCloud)
	return n
}

// endpoint returns the address of the machine's Talos API.
func (m Machine) endpoint() string { return m.Addresses[0].Addr().String() }
