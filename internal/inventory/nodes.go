package inventory

import "net/netip"

// NodeList is nodes.yaml: the machines of the cluster.
type NodeList struct {
	// Header names the format of the file.
	Header `yaml:",inline"`
	// Nodes of the cluster. Required. The first control plane in this order is the one that is bootstrapped.
	Nodes Nodes `yaml:"nodes" required:"true" min:"1" max:"10000"`
}

// Nodes are the machines of a cluster in the order of the file.
type Nodes []Node

// Node is one machine.
type Node struct {
	// Name of the machine in Proxmox VE, its hostname and the name of the Kubernetes node: a DNS-1123 label, unique. Required. A
	// change replaces the machine, by em-infra up only: a worker at once, a control plane with --allow-replace NODE.
	Name string `yaml:"name" required:"true"`
	// Role of the node in the cluster. Required. A change between worker and control plane replaces the machine: a worker at
	// once, a control plane with --allow-replace NODE.
	Role Role `yaml:"role" required:"true"`
	// VMID of the machine, unique in the whole of Proxmox VE. Required. A change replaces the machine: a worker at once, a control
	// plane with --allow-replace NODE.
	VMID int `yaml:"vmid" required:"true"`
	// Address in network.cidr. Required. A change replaces the machine: a worker at once, a control plane with --allow-replace NODE.
	Address netip.Addr `yaml:"address" required:"true"`
	// Address6 in network.cidr6, for every node of a dual-stack cluster and for none of another. Default: none.
	Address6 netip.Addr `yaml:"address6"`
	// Host is the Proxmox VE node of the machine. Default: proxmox.host. A change migrates the running machine, unless a GPU or an
	// ISO on a local storage prevents that.
	Host string `yaml:"host"`
	// MAC of the first network card. Default: derived from the cluster's name and the VMID, never changing.
	MAC MAC `yaml:"mac"`
	// Sockets of the machine. Default: 1. A change reboots the node.
	Sockets int `yaml:"sockets"`
	// Size is what the machine is given. Default: that of the role.
	Size `yaml:",inline"`
	// CPUType that the machine sees. Default: host for a gpu-worker, whose programs need AVX and which cannot migrate, else
	// x86-64-v2-AES, which every host of a cluster can offer. A change reboots the node.
	CPUType string `yaml:"cpuType"`
	// DiskStorage of the system disk. Default: proxmox.diskStorage.
	DiskStorage string `yaml:"diskStorage"`
	// DataDisks are further disks, mounted by Talos. Default: none. New disks are appended; none can be removed from an existing
	// machine.
	DataDisks []DataDisk `yaml:"dataDisks"`
	// NICs are further network cards. Default: none.
	NICs []NIC `yaml:"networks"`
	// GPUs that are passed through: at least one for a gpu-worker, none for the others. Default: none.
	GPUs []GPU `yaml:"gpus"`
	// Driver is NVIDIA's driver in the image of a gpu-worker. Default: the one for its GPUs; no other node has one.
	Driver *Driver `yaml:"driver"`
	// Labels of the Kubernetes node. Default: none.
	Labels map[string]string `yaml:"labels" max:"100"`
	// Taints of the Kubernetes node, as key: value:Effect. Default: none.
	Taints map[string]Taint `yaml:"taints" max:"100"`
	// Patches are strategic merge patches of this node's Talos configuration, applied last. Default: none.
	Patches []Patch `yaml:"patches" max:"100"`
	// Tags in Proxmox VE, beside proxmox.tags. Default: none.
	Tags []string `yaml:"tags" max:"50"`
	// Startup is the order at boot and shutdown of the host. Default: none.
	Startup *Startup `yaml:"startup"`
	// OnBoot starts the machine when its host boots. Default: true. A change is made in place.
	OnBoot bool `yaml:"onBoot" default:"true"`
	// Protect forbids the deletion of this node. Default: false.
	Protect bool `yaml:"protect"`
}

// DataDisk is a further disk of a node.
type DataDisk struct {
	// SizeGiB is the size in GiB. It can only grow; Talos uses the additional space from the node's next boot on. Required.
	SizeGiB int `yaml:"sizeGiB" required:"true"`
	// Storage of the disk. Default: the node's diskStorage.
	Storage string `yaml:"storage"`
	// Mount is the name of the Talos user volume, which is mounted at /var/mnt/NAME. It cannot change once the volume is made. Required.
	Mount string `yaml:"mount" required:"true"`
}

// NIC is a further network card of a node.
type NIC struct {
	// Bridge that the card is attached to. Required.
	Bridge string `yaml:"bridge" required:"true"`
	// VLAN tag of the card. Default: none, untagged.
	VLAN int `yaml:"vlan"`
	// Address with its prefix length, e.g. 10.0.40.21/24. Default: none.
	Address netip.Prefix `yaml:"address"`
	// MTU in bytes. Default: 1500.
	MTU int `yaml:"mtu"`
	// MAC of the card. Default: derived as that of the first.
	MAC MAC `yaml:"mac"`
}

// GPU is a PCI device that is passed through: the name of a resource mapping, or the four facts from which a mapping is
// created.
type GPU struct {
	// Mapping is the name of a PCI resource mapping of Proxmox VE. It may be named more than once if it contains several devices
	// of the host. Exactly one of mapping and bdf is given.
	Mapping string `yaml:"mapping"`
	// BDF is the PCI address on the host, e.g. 0000:01:00.0. A machine that runs gets another device when it is stopped and started.
	BDF BDF `yaml:"bdf"`
	// DeviceID is vendor:device, e.g. 10de:2204. Given with bdf.
	DeviceID PCIID `yaml:"deviceId"`
	// SubsystemID is vendor:device of the subsystem, e.g. 1462:3881. Given with bdf.
	SubsystemID PCIID `yaml:"subsystemId"`
	// IOMMUGroup of the device on the host. Given with bdf.
	IOMMUGroup *int `yaml:"iommuGroup" min:"0"`
}

// Driver is a build of NVIDIA's driver, which Talos has as a pair of system extensions. Each gpu-worker has its own driver, and
// therefore its own image. A change is another image: the next up upgrades the node in place, drained and with a reboot.
type Driver struct {
	// KernelModuleType is open or proprietary. Maxwell, Pascal and Volta need the proprietary modules and Blackwell the open ones;
	// the generations in between support both, and NVIDIA recommends the open ones. Default: proprietary where a deviceId is of
	// Maxwell, Pascal or Volta, else open; the devices of a mapping are not known here, and em-infra preflight checks them.
	KernelModuleType KernelModuleType `yaml:"kernelModuleType"`
	// Branch is lts or production. The Talos version determines their releases: lts is R580 in Talos 1.12 to 1.14, production is
	// R570 in 1.12 and R595 from 1.13 on. R580 is the last for Maxwell, Pascal and Volta. Default: lts.
	Branch DriverBranch `yaml:"branch"`
}

// Startup is the order at boot and shutdown of the host.
type Startup struct {
	// Order: lower numbers start first and stop last. Required.
	Order int `yaml:"order" required:"true" min:"0"`
	// UpDelaySeconds passes before the next machine starts. Default: 0.
	UpDelaySeconds int `yaml:"upDelaySeconds" min:"0"`
	// DownDelaySeconds is how long the host waits for this machine to stop. Default: 0, the host's own.
	DownDelaySeconds int `yaml:"downDelaySeconds" min:"0"`
}

// ControlPlanes returns the nodes that run etcd and the Kubernetes control plane, in file order.
func (n Nodes) ControlPlanes() Nodes { return n.with(RoleControlPlane) }

// Workers returns the nodes that are not control planes, GPU workers included, in file order.
func (n Nodes) Workers() Nodes { return n.with(RoleWorker, RoleGPUWorker) }

// GPUWorkers returns the workers with GPUs, in file order.
func (n Nodes) GPUWorkers() Nodes { return n.with(RoleGPUWorker) }

// OnHost returns the nodes on one Proxmox VE node, in file order.
func (n Nodes) OnHost(host string) Nodes {
	var found Nodes
	for _, node := range n {
		if node.Host == host {
			found = append(found, node)
		}
	}
	return found
}

// Hosts returns the Proxmox VE nodes of the nodes, each once, in order of first mention.
func (n Nodes) Hosts() []string {
	var hosts []string
	seen := make(map[string]bool, len(n))
	for _, node := range n {
		if !seen[node.Host] {
			seen[node.Host] = true
			hosts = append(hosts, node.Host)
		}
	}
	return hosts
}

func (n Nodes) with(roles ...Role) Nodes {
	var found Nodes
	for _, node := range n {
		for _, role := range roles {
			if node.Role == role {
				found = append(found, node)
			}
		}
	}
	return found
}
