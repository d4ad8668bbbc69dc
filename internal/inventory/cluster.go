package inventory

import (
	"net/netip"
	"time"
)

// Cluster is cluster.yaml: everything that the nodes of one cluster share.
type Cluster struct {
	// Header names the format of the file.
	Header `yaml:",inline"`
	// Name of the cluster: a DNS-1123 label. It is the name of the kubeconfig's context and a prefix of the cluster's resources.
	// Required. A change creates another cluster.
	Name string `yaml:"name" required:"true"`
	// Protect forbids the deletion of everything in the stack until it is false again. Default: false.
	Protect bool `yaml:"protect"`
	// Talos is the operating system of the nodes.
	Talos Talos `yaml:"talos"`
	// Kubernetes are the settings of Kubernetes.
	Kubernetes Kubernetes `yaml:"kubernetes"`
	// Network is the nodes' own network.
	Network Network `yaml:"network"`
	// Proxmox is where the machines run.
	Proxmox Proxmox `yaml:"proxmox"`
	// Defaults are the sizes of the nodes, by role.
	Defaults Defaults `yaml:"defaults"`
	// Upgrade is how nodes are upgraded: which one first, and how many at a time.
	Upgrade Upgrade `yaml:"upgrade"`
	// Backups are the snapshots of etcd: where they are, who can open them, and which of them stay.
	Backups Backups `yaml:"backups"`
	// Storage is what the cluster has on a TrueNAS box, made before the machines. Default: none.
	Storage *Storage `yaml:"storage"`
	// Addons are what is installed into the cluster.
	Addons Addons `yaml:"addons"`
}

// Upgrade is how changes come to nodes that run: which node is upgraded first, and how many nodes are away at a time.
type Upgrade struct {
	// Canary is the name of the node that gets another image of Talos before all others. Default: none, control planes first, then workers, each as soon
	// as it has the image. A change affects later upgrades only.
	Canary string `yaml:"canary"`
	// PauseSeconds is how long the other nodes wait, in seconds, after the canary works again: the time in which you can look at it
	// and interrupt the run. Default: 0. A change affects later upgrades only.
	PauseSeconds int `yaml:"pauseSeconds" min:"0" max:"86400"`
	// MinReadySeconds is how long a changed node must work again, in seconds, before the next one changes. It reveals a node that
	// fails soon after its start. Default: 10. A change affects later runs only.
	MinReadySeconds int `yaml:"minReadySeconds" min:"1" max:"3600" default:"10"`
	// MaxUnavailable is how many workers change or reboot at a time: a number, or a percentage of the workers, rounded down and at
	// least one. Control planes always change alone. Default: 1. A change affects later runs only.
	MaxUnavailable MaxUnavailable `yaml:"maxUnavailable" default:"1"`
}

// MinReady is how long a changed node must work again before the next one changes.
func (u Upgrade) MinReady() time.Duration { return time.Duration(u.MinReadySeconds) * time.Second }

// Talos is the operating system of the nodes.
type Talos struct {
	// Version of Talos on the nodes, e.g. v1.12.4: v1.2 to v1.14. Default: v1.12.4. A change replaces the template; running nodes are
	// upgraded in place, never replaced, to the next minor release at most.
	Version Version `yaml:"version" default:"v1.12.4"`
	// Contract is the version whose machine-config format and defaults the cluster was created with, e.g. v1.12. Required. For a
	// new cluster it is major.minor of version, v1.12 at most; keep it when version changes. A change is refused once the cluster
	// exists: it would change the keys that its data is encrypted with.
	Contract Contract `yaml:"contract" required:"true" remedy:"add contract: v1.12 below talos, for a new cluster the major.minor of talos.version up to v1.12, for an existing one the version that it was created with"`
	// Schematic is the customization of the image by the Image Factory.
	Schematic Schematic `yaml:"schematic"`
	// Patches are strategic merge patches of the Talos configuration for all nodes, applied after em-infra's own. Default: none.
	Patches []Patch `yaml:"patches" max:"100"`
}

// Schematic is the customization of a Talos image.
type Schematic struct {
	// Extensions are official system extensions. With siderolabs/qemu-guest-agent the machines' guest agent is switched on, which
	// reboots existing nodes. Default: none.
	Extensions []string `yaml:"extensions" max:"100"`
	// KernelArgs are further arguments of the kernel, e.g. net.ifnames=0. Default: none.
	KernelArgs []string `yaml:"kernelArgs" max:"100"`
}

// Kubernetes are the settings of Kubernetes.
type Kubernetes struct {
	// Version of Kubernetes, e.g. v1.35.4. Default: v1.35.4. It must be one that the Talos version supports.
	Version KubernetesVersion `yaml:"version" default:"v1.35.4"`
	// Endpoint is the address of the API server for clients and nodes.
	Endpoint Endpoint `yaml:"endpoint"`
	// PodSubnets are the pods' networks, one for each IP family. Default: 10.244.0.0/16. A change is refused once the
	// cluster exists.
	PodSubnets []netip.Prefix `yaml:"podSubnets" default:"[10.244.0.0/16]" min:"1" max:"2"`
	// ServiceSubnets are the services' networks, one for each IP family. Default: 10.96.0.0/12. A change is refused once the
	// cluster exists.
	ServiceSubnets []netip.Prefix `yaml:"serviceSubnets" default:"[10.96.0.0/12]" min:"1" max:"2"`
	// CNI is the network plugin; flannel is installed by Talos, cilium as an addon, none by you. Default: flannel. A change is
	// refused once the cluster exists.
	CNI CNI `yaml:"cni" default:"flannel"`
	// AllowSchedulingOnControlPlanes lets ordinary pods run on control planes. Default: false.
	AllowSchedulingOnControlPlanes bool `yaml:"allowSchedulingOnControlPlanes"`
}

// Endpoint is the address of the Kubernetes API: a virtual address that the control planes share, or a DNS name.
type Endpoint struct {
	// VIP is a free address in network.cidr that the control planes share. Exactly one of vip and host is given. A change is
	// applied without a reboot; kubeconfig and addons follow.
	VIP netip.Addr `yaml:"vip"`
	// Host is a DNS name that resolves to the control planes, or the address of a control plane or of a load balancer.
	// Exactly one of vip and host is given.
	Host string `yaml:"host"`
	// Port of the API server. Default: 6443.
	Port int `yaml:"port" default:"6443" min:"1" max:"65535"`
}

// Network is the nodes' own network.
type Network struct {
	// CIDR that holds every node's address, IPv4 or IPv6, e.g. 192.168.20.0/24. Required.
	CIDR netip.Prefix `yaml:"cidr" required:"true"`
	// CIDR6 holds every node's second, IPv6 address in a dual-stack cluster, e.g. fd00:20::/64. Default: none.
	CIDR6 netip.Prefix `yaml:"cidr6"`
	// Gateway is the default route: an address in cidr, or a link-local IPv6 one. Required. A change takes effect at once, and
	// reboots the nodes one after the other for their cloud-init drives.
	Gateway netip.Addr `yaml:"gateway" required:"true"`
	// Gateway6 is the default route of IPv6: an address in cidr6, or a link-local one. Default: none.
	Gateway6 netip.Addr `yaml:"gateway6"`
	// Nameservers answer the nodes' DNS queries: addresses, or STACK/SYSTEM for systems of other stacks of the project, such as
	// site-systems/pihole. Default: the gateway, unless it is link-local. A change, also of the address of such a system, is applied
	// without a reboot.
	Nameservers []Nameserver `yaml:"nameservers" min:"1" max:"3"`
	// TimeServers are the nodes' NTP servers. Default: time.cloudflare.com.
	TimeServers []string `yaml:"timeServers" default:"[time.cloudflare.com]" min:"1" max:"10"`
	// Addressing is how a node gets its address at first boot: nocloud or dhcp. Default: nocloud. A change reboots the nodes
	// one after the other.
	Addressing Addressing `yaml:"addressing" default:"nocloud"`
	// Bridge of Proxmox VE that the nodes are attached to. Default: vmbr0.
	Bridge string `yaml:"bridge" default:"vmbr0"`
	// VLAN tag of the nodes' cards. Default: none, untagged.
	VLAN int `yaml:"vlan"`
	// MTU in bytes. Default: 1500.
	MTU int `yaml:"mtu"`
}

// Proxmox is where the machines run.
type Proxmox struct {
	// Host is the name of the Proxmox VE node for nodes that do not name one. Required.
	Host string `yaml:"host" required:"true"`
	// ISOStorage holds the Talos ISO. Default: local.
	ISOStorage string `yaml:"isoStorage" default:"local"`
	// DiskStorage holds the nodes' disks. Required.
	DiskStorage string `yaml:"diskStorage" required:"true"`
	// Pool that the machines belong to. Default: none.
	Pool string `yaml:"pool"`
	// Tags of every machine. Default: none.
	Tags []string `yaml:"tags" max:"50"`
	// SCSIController that the disks are attached to: virtio-scsi-single gives each disk a controller and a thread of its own;
	// virtio-scsi-pci gives all disks one controller, for hosts on which Talos hangs at its first boot or does not find its disks
	// with the other. Default: virtio-scsi-single. A change is made to the templates in place, and reboots the nodes one after the
	// other.
	SCSIController SCSIController `yaml:"scsiController" default:"virtio-scsi-single"`
	// Template that the nodes are cloned from.
	Template Template `yaml:"template"`
}

// Template is the virtual machine that the nodes are cloned from.
type Template struct {
	// VMID of the template on proxmox.host. It stays the same across Talos versions. Required.
	VMID int `yaml:"vmid" required:"true"`
	// Name of the template on every host. Default: talos-VERSION-base.
	Name string `yaml:"name"`
	// TPM gives every machine that is cloned from it a TPM 2.0. Default: false. A change affects only machines that are created
	// later.
	TPM bool `yaml:"tpm"`
	// Shared makes the hosts share one template, the one on proxmox.host. isoStorage, diskStorage and the storage of the system
	// disk of every node on another host must then be shared by the hosts. Default: false, each host has a template of its own. A
	// change affects only machines that are created later.
	Shared bool `yaml:"shared"`
	// PerHost is the template's VMID on each further host of the nodes, unless the hosts share one. Default: none.
	PerHost map[string]int `yaml:"perHost" max:"100"`
}

// Defaults are the sizes of the nodes, by role.
type Defaults struct {
	// ControlPlane is the size of a control plane. Default: 4 cores, 8192 MiB, 64 GiB.
	ControlPlane Size `yaml:"control-plane" default:"{cores: 4, memoryMiB: 8192, diskGiB: 64}"`
	// Worker is the size of a worker. Default: 4 cores, 8192 MiB, 128 GiB.
	Worker Size `yaml:"worker" default:"{cores: 4, memoryMiB: 8192, diskGiB: 128}"`
	// GPUWorker is the size of a GPU worker. Default: 8 cores, 32768 MiB, 256 GiB.
	GPUWorker Size `yaml:"gpu-worker" default:"{cores: 8, memoryMiB: 32768, diskGiB: 256}"`
}

// Size is the hardware of a machine, as the default of a role or for one node.
type Size struct {
	// Cores of each socket. A change reboots the node. Default: the number above.
	Cores int `yaml:"cores"`
	// MemoryMiB is the memory in MiB. A change reboots the node. Default: the number above.
	MemoryMiB int `yaml:"memoryMiB"`
	// DiskGiB is the size of the system disk in GiB. It can only grow; Talos uses the additional space from the node's next boot
	// on. Default: the number above.
	DiskGiB int `yaml:"diskGiB"`
}
