package inventory

import (
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/nvidia"
)

// Role is the role of a node in the cluster.
type Role string

// The roles.
const (
	// RoleControlPlane runs etcd and the Kubernetes control plane.
	RoleControlPlane Role = "control-plane"
	// RoleWorker runs pods.
	RoleWorker Role = "worker"
	// RoleGPUWorker is a worker with GPUs.
	RoleGPUWorker Role = "gpu-worker"
)

// Choices returns all roles.
func (Role) Choices() []string {
	return []string{string(RoleControlPlane), string(RoleWorker), string(RoleGPUWorker)}
}

// UnmarshalText reads one of the roles.
func (r *Role) UnmarshalText(text []byte) error { return choose(r, text) }

// CNI is the network plugin of Kubernetes.
type CNI string

// The network plugins.
const (
	// CNIFlannel is included in Talos, which installs it.
	CNIFlannel CNI = "flannel"
	// CNICilium is installed as an addon; Talos installs none.
	CNICilium CNI = "cilium"
	// CNINone leaves the installation to the user; the nodes are not Ready before it is done.
	CNINone CNI = "none"
)

// Choices returns all network plugins.
func (CNI) Choices() []string {
	return []string{string(CNIFlannel), string(CNICilium), string(CNINone)}
}

// UnmarshalText reads one of the network plugins.
func (c *CNI) UnmarshalText(text []byte) error { return choose(c, text) }

// SCSIController is the controller that the disks of the machines are attached to.
type SCSIController string

// The controllers.
const (
	// SCSIVirtIOSingle is one virtio-scsi controller for each disk.
	SCSIVirtIOSingle SCSIController = "virtio-scsi-single"
	// SCSIVirtIO is one virtio-scsi controller for all disks of a machine.
	SCSIVirtIO SCSIController = "virtio-scsi-pci"
)

// Choices returns all controllers.
func (SCSIController) Choices() []string {
	return []string{string(SCSIVirtIOSingle), string(SCSIVirtIO)}
}

// UnmarshalText reads one of the controllers.
func (s *SCSIController) UnmarshalText(text []byte) error { return choose(s, text) }

// KernelModuleType is the flavor of the kernel modules of NVIDIA's driver.
type KernelModuleType string

// The flavors, by the names of NVIDIA's installer.
const (
	// KernelModulesOpen are the open modules, for Turing and later.
	KernelModulesOpen = KernelModuleType(nvidia.Open)
	// KernelModulesProprietary are the proprietary modules, for Maxwell to Hopper.
	KernelModulesProprietary = KernelModuleType(nvidia.Proprietary)
)

// Choices returns all flavors.
func (KernelModuleType) Choices() []string {
	return []string{string(KernelModulesOpen), string(KernelModulesProprietary)}
}

// UnmarshalText reads one of the flavors.
func (k *KernelModuleType) UnmarshalText(text []byte) error { return choose(k, text) }

// DriverBranch is the branch of NVIDIA's driver releases.
type DriverBranch string

// The branches for which Talos has extensions.
const (
	// DriverLTS is the long-term branch.
	DriverLTS = DriverBranch(nvidia.LTS)
	// DriverProduction is the production branch of the Talos version.
	DriverProduction = DriverBranch(nvidia.Production)
)

// Choices returns all branches.
func (DriverBranch) Choices() []string {
	return []string{string(DriverLTS), string(DriverProduction)}
}

// UnmarshalText reads one of the branches.
func (d *DriverBranch) UnmarshalText(text []byte) error { return choose(d, text) }

// Addressing is how a node gets its address at its first boot.
type Addressing string

// The addressing methods.
const (
	// AddressingNoCloud gives the static address through the cloud-init drive of Proxmox VE.
	AddressingNoCloud Addressing = "nocloud"
	// AddressingDHCP sets the MAC; the user reserves the address.
	AddressingDHCP Addressing = "dhcp"
)

// Choices returns all addressing methods.
func (Addressing) Choices() []string {
	return []string{string(AddressingNoCloud), string(AddressingDHCP)}
}

// UnmarshalText reads an addressing method.
func (a *Addressing) UnmarshalText(text []byte) error { return choose(a, text) }

// choose sets the target to the choice that the text names.
func choose[T manifest.Choice](target *T, text []byte) error { return manifest.Choose(target, text) }
