package systems

import (
	"net/netip"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// KindSystems is the kind in the header of the file.
const KindSystems = "Systems"

// File is systems.yaml: virtual machines and containers that are no nodes of a cluster, and what they are made from.
type File struct {
	// Header names the format of the file.
	manifest.Header `yaml:",inline"`
	// Name of the stack's resources: a DNS-1123 label, and a prefix of their names in the state. Required. A change creates all of them
	// anew.
	Name string `yaml:"name" required:"true"`
	// Protect forbids the deletion of everything in the stack until it is false again. Default: false.
	Protect bool `yaml:"protect"`
	// Proxmox is where the systems run, unless they say otherwise.
	Proxmox Proxmox `yaml:"proxmox"`
	// Network is what their network cards have, unless they say otherwise.
	Network Network `yaml:"network"`
	// SSHKeys are keys for the user of every system, in the form of authorized_keys, beside its own. Default: none. Written once: a change
	// affects later systems only.
	SSHKeys []string `yaml:"sshKeys" max:"100"`
	// Snapshots that a run takes of a system before it changes it, unless the system says otherwise. Default: none.
	Snapshots *Snapshots `yaml:"snapshots"`
	// Images are disk images that virtual machines are made from. Default: none.
	Images []Image `yaml:"images" max:"100"`
	// ISOs are discs that appliances are installed from. Default: none.
	ISOs []ISO `yaml:"isos" max:"100"`
	// ContainerTemplates are archives that containers are made from. Default: none.
	ContainerTemplates []ContainerTemplate `yaml:"containerTemplates" max:"100"`
	// VirtualMachines are the machines. Default: none.
	VirtualMachines []VirtualMachine `yaml:"virtualMachines" max:"1000"`
	// Containers are the containers (LXC). Default: none.
	Containers []Container `yaml:"containers" max:"1000"`
}

// Proxmox is where the systems run.
type Proxmox struct {
	// Host is the name of the Proxmox VE node. Required.
	Host string `yaml:"host" required:"true"`
	// DiskStorage holds the disks: of the content type images for virtual machines, of rootdir for containers. Required.
	DiskStorage string `yaml:"diskStorage" required:"true"`
	// FileStorage receives what is downloaded: of the content type import (Proxmox VE 8.4 and later) for images, of iso for ISOs, of vztmpl
	// for the templates of containers. Default: local.
	FileStorage string `yaml:"fileStorage" default:"local"`
	// Pool that the systems belong to. It is made unless it exists. Default: none.
	Pool string `yaml:"pool"`
	// Tags of every system. Default: none.
	Tags []string `yaml:"tags" max:"50"`
}

// Network is what network cards have.
type Network struct {
	// Bridge of Proxmox VE. Default: vmbr0.
	Bridge string `yaml:"bridge" default:"vmbr0"`
	// VLAN tag of cards that name no bridge of their own. Default: none, untagged.
	VLAN int `yaml:"vlan"`
	// Gateway of the first card of a system whose address is in its subnet. Default: none.
	Gateway netip.Addr `yaml:"gateway"`
	// Nameservers answer DNS queries. Default: none, those of the host.
	Nameservers []netip.Addr `yaml:"nameservers" max:"3"`
	// SearchDomain completes short names. Default: none, that of the host.
	SearchDomain string `yaml:"searchDomain"`
}

// Source is a file on the internet that a host downloads. Its checksum pins it, since the URL may lead to another file tomorrow.
type Source struct {
	// URL of the file. Required. A change alone changes no system: the checksum says which file it is.
	URL URL `yaml:"url" required:"true"`
	// Checksum of the file, as sha256:HEX or sha512:HEX. Required. A change makes another image; existing systems keep what they have.
	Checksum Checksum `yaml:"checksum" required:"true"`
}

// Image is a disk image in the format qcow2 or raw. A template is made from it, and virtual machines are cloned from the template.
type Image struct {
	// Name of the template in Proxmox VE, and of the image in this file. Required. A change makes another template.
	Name string `yaml:"name" required:"true"`
	// Source of the image.
	Source `yaml:",inline"`
	// VMID of the template, unique in the whole of Proxmox VE. Required. A change makes another template.
	VMID int `yaml:"vmid" required:"true"`
	// Host of the template and of the machines that are cloned from it. Default: proxmox.host. A change makes another template.
	Host string `yaml:"host"`
	// DiskStorage of the template. Default: proxmox.diskStorage. A change makes another template.
	DiskStorage string `yaml:"diskStorage"`
}

// ISO is the disc of an installer, .iso, or compressed: .iso.gz, .iso.bz2 or .iso.zst, which the host decompresses. Each host of the machines that
// have it in their drives downloads it, and keeps it. Another checksum means another disc, which replaces the former one in these drives.
type ISO struct {
	// Name of the ISO in this file: a DNS-1123 label. Required.
	Name string `yaml:"name" required:"true"`
	// Source of the ISO.
	Source `yaml:",inline"`
}

// ContainerTemplate is the archive of a system, .tar.gz, .tar.xz, .tar.zst or .tar.bz2. Each host of its containers downloads it, and keeps it.
type ContainerTemplate struct {
	// Name of the template in this file. Required.
	Name string `yaml:"name" required:"true"`
	// Source of the template.
	Source `yaml:",inline"`
	// OSType is how Proxmox VE writes network and DNS into a container. Required. A change reboots the containers.
	OSType OSType `yaml:"osType" required:"true"`
}

// VirtualMachine is a machine that is cloned from the template of an image, or begins with blank disks and is installed from an ISO. In one from
// an image, cloud-init writes user, keys and addresses at the first boot, and not again: later changes of them are ignored. One from an ISO is
// configured in its own installer, on its console, and has none of those keys.
type VirtualMachine struct {
	// System is what it has in common with a container.
	System `yaml:",inline"`
	// Image that it is made from: the name of one on its host. Default: none, for a machine with an iso. A change affects no existing machine.
	Image string `yaml:"image"`
	// ISO that it is installed from: the name of one in isos. Default: none, for a machine with an image. A change changes the disc in the
	// drive, in place, and never its disks.
	ISO string `yaml:"iso"`
	// Ejected empties the drive, once the machine is installed. Default: false for a machine with an iso. A change is made in place.
	Ejected *bool `yaml:"ejected"`
	// CPUType that the machine sees. Default: x86-64-v2-AES, which every host of a cluster can offer. A change reboots it.
	CPUType string `yaml:"cpuType"`
	// User that cloud-init creates. Default: that of the image. Written once. Not for a machine with an iso.
	User string `yaml:"user"`
	// DataDisks are further disks, blank at first. Default: none. New disks are appended; none can be removed from an existing machine.
	DataDisks []DataDisk `yaml:"dataDisks"`
}

// DataDisk is a further disk of a machine.
type DataDisk struct {
	// SizeGiB is the size in GiB. It can only grow. Required.
	SizeGiB int `yaml:"sizeGiB" required:"true"`
	// Storage of the disk. Default: the machine's diskStorage. A change moves the disk while the machine is off.
	Storage string `yaml:"storage"`
}

// Container is an unprivileged container (LXC).
type Container struct {
	// System is what it has in common with a virtual machine.
	System `yaml:",inline"`
	// Template that it is made from: the name of one in containerTemplates. Required. A change affects no existing container.
	Template string `yaml:"template" required:"true"`
	// SwapMiB is its swap in MiB. Default: 0, none. A change reboots it.
	SwapMiB int `yaml:"swapMiB"`
	// Nesting gives it its own view of /proc and /sys, which systemd needs. It is the only feature that a token may set. Default: true. A
	// change to true takes effect with its next start. The provider does not switch it off: drift shows the command that does.
	Nesting bool `yaml:"nesting" default:"true"`
}

// System is what virtual machines and containers have in common.
type System struct {
	// Name in Proxmox VE and hostname: a DNS-1123 label, unique. Required. A system keeps its name: to give it another one, remove it and
	// add it again.
	Name string `yaml:"name" required:"true"`
	// VMID, unique in the whole of Proxmox VE. Required. A change replaces the system.
	VMID int `yaml:"vmid" required:"true"`
	// Host is the Proxmox VE node that it runs on. Default: proxmox.host. A change migrates a virtual machine; it replaces a container.
	Host string `yaml:"host"`
	// Cores that it has. Default: 1. A change reboots it.
	Cores int `yaml:"cores"`
	// MemoryMiB is its memory in MiB. Default: 1024. A change reboots it.
	MemoryMiB int `yaml:"memoryMiB"`
	// DiskGiB is the size of its disk in GiB. It can only grow, which happens while it runs. Default: 8.
	DiskGiB int `yaml:"diskGiB"`
	// DiskStorage holds its disk. Default: proxmox.diskStorage. A change moves the disk of a virtual machine; it replaces a container.
	DiskStorage string `yaml:"diskStorage"`
	// NICs are its network cards. Required.
	NICs []NIC `yaml:"networks" required:"true" min:"1"`
	// Nameservers answer its DNS queries. Default: network.nameservers. Written once for a virtual machine. Not for a machine with an iso.
	Nameservers []netip.Addr `yaml:"nameservers" max:"3"`
	// SearchDomain completes short names. Default: network.searchDomain. Written once for a virtual machine. Not for a machine with an iso.
	SearchDomain string `yaml:"searchDomain"`
	// SSHKeys are keys for its user, root in a container, beside sshKeys of the file. Default: none. Written once. Not for a
	// machine with an iso.
	SSHKeys []string `yaml:"sshKeys" max:"100"`
	// Startup is the order at boot and shutdown of the host. Default: none. A change is made in place.
	Startup *inventory.Startup `yaml:"startup"`
	// OnBoot starts it when its host boots. Default: true. A change is made in place; for a container it is written only once, and em-infra drift shows
	// what sets it.
	OnBoot bool `yaml:"onBoot" default:"true"`
	// Protect forbids its deletion, here and by the flag of Proxmox VE. Default: false. A change is made in place.
	Protect bool `yaml:"protect"`
	// Snapshots that a run takes of it before it changes it. Default: those of the file. A change takes effect with the next change of the
	// system; it changes nothing on the host by itself.
	Snapshots *Snapshots `yaml:"snapshots"`
	// Tags in Proxmox VE, beside proxmox.tags. Default: none. A change is made in place.
	Tags []string `yaml:"tags" max:"50"`
	// Pool that it belongs to. It is made unless it exists. Default: proxmox.pool. A change moves a virtual machine; it replaces a container.
	Pool string `yaml:"pool"`
}

// Snapshots of a system's disks, without its memory. A run takes one before it changes the system in place or reboots it, and then removes
// its own oldest ones. They need storages that can take them, and the token the privilege VM.Snapshot.
type Snapshots struct {
	// Keep is how many of them stay, the one of the run included; 0 takes none, and leaves those that there are. Required.
	Keep int `yaml:"keep" required:"true" min:"0" max:"50"`
}

// NIC is a network card.
type NIC struct {
	// Address with the length of its subnet, e.g. 192.168.20.5/24, or dhcp. It must be given, except for a machine with an iso, which sets it by itself.
	// For a virtual machine it is written once.
	Address Address `yaml:"address"`
	// Gateway in the subnet. Default: network.gateway for the first card if it is in its subnet, else none. Not for a machine with an iso.
	Gateway netip.Addr `yaml:"gateway"`
	// Bridge of Proxmox VE. Default: network.bridge.
	Bridge string `yaml:"bridge"`
	// VLAN tag. Default: network.vlan if no bridge is given here, else none, untagged.
	VLAN int `yaml:"vlan"`
	// MAC address. Default: derived from the name of the stack's resources and the VMID, never changing.
	MAC inventory.MAC `yaml:"mac"`
}
