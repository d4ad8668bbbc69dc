package inventory

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// complete sets defaults that depend on other values. Constant defaults are in the tags of the types.
func (i *Inventory) complete() {
	i.Cluster.complete()
	for at := range i.Nodes {
		i.Nodes[at].complete(i.Cluster)
	}
}

func (c *Cluster) complete() {
	if len(c.Network.Nameservers) == 0 && c.Network.Gateway.IsValid() && !c.Network.Gateway.IsLinkLocalUnicast() {
		c.Network.Nameservers = []Nameserver{{Address: c.Network.Gateway}}
	}
	if c.Proxmox.Template.Name == "" && !c.Talos.Version.IsZero() {
		c.Proxmox.Template.Name = fmt.Sprintf("talos-%s-base", c.Talos.Version)
	}
	if c.Storage != nil {
		c.Storage.complete(c.Network)
	}
	if truenas := c.Addons.TrueNAS; truenas != nil && truenas.CSI != nil {
		truenas.CSI.complete(c.Network)
	}
	c.Addons.complete(c.Talos.Version.String())
	if backup := c.Addons.EtcdBackup; backup != nil && backup.Recipient.IsZero() && len(c.Backups.Recipients) == 1 {
		backup.Recipient = c.Backups.Recipients[0]
	}
}

func (n *Node) complete(c Cluster) {
	n.Host = or(n.Host, c.Proxmox.Host)
	n.DiskStorage = or(n.DiskStorage, c.Proxmox.DiskStorage)
	size := c.Defaults.of(n.Role)
	n.Cores = or(n.Cores, size.Cores)
	n.MemoryMiB = or(n.MemoryMiB, size.MemoryMiB)
	n.DiskGiB = or(n.DiskGiB, size.DiskGiB)
	n.CPUType = or(n.CPUType, cpuTypeOf(n.Role))
	n.completeDriver()
	for at := range n.DataDisks {
		n.DataDisks[at].Storage = or(n.DataDisks[at].Storage, n.DiskStorage)
	}
	if c.Name == "" || n.VMID == 0 {
		return
	}
	n.MAC = or(n.MAC, DerivedMAC(c.Name, n.VMID, 0))
	for at := range n.NICs {
		n.NICs[at].MAC = or(n.NICs[at].MAC, DerivedMAC(c.Name, n.VMID, at+1))
	}
}

// cpuTypeOf returns the default CPU type of a role.
func cpuTypeOf(role Role) string {
	if role == RoleGPUWorker {
		return hardware.GPUCPUType
	}
	return hardware.CPUType
}

// completeDriver sets the missing parts of a gpu-worker's driver. Only the GPUs decide, not the version of Talos, so that the
// driver of an existing node does not change with it.
func (n *Node) completeDriver() {
	if n.Role != RoleGPUWorker {
		return
	}
	driver := Driver{}
	if n.Driver != nil {
		driver = *n.Driver
	}
	driver.KernelModuleType = or(driver.KernelModuleType, KernelModuleType(nvidia.ModulesFor(n.generations())))
	driver.Branch = or(driver.Branch, DriverLTS)
	n.Driver = &driver
}

// of returns the size of a role, empty for an unknown role.
func (d Defaults) of(role Role) Size {
	switch role {
	case RoleControlPlane:
		return d.ControlPlane
	case RoleWorker:
		return d.Worker
	case RoleGPUWorker:
		return d.GPUWorker
	default:
		return Size{}
	}
}

// or returns value, or fallback if value is zero.
func or[T comparable](value, fallback T) T {
	var none T
	if value == none {
		return fallback
	}
	return value
}
