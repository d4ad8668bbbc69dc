package inventory

import (
	"fmt"
	"net/netip"
)

// complete fills in what follows from other facts. What is the same for every inventory stands in the default tags of
// the types.
func (i *Inventory) complete() {
	i.Cluster.complete()
	for at := range i.Nodes {
		i.Nodes[at].complete(i.Cluster)
	}
}

func (c *Cluster) complete() {
	if len(c.Network.Nameservers) == 0 && c.Network.Gateway.IsValid() && !c.Network.Gateway.IsLinkLocalUnicast() {
		c.Network.Nameservers = []netip.Addr{c.Network.Gateway}
	}
	if c.Proxmox.Template.Name == "" && !c.Talos.Version.IsZero() {
		c.Proxmox.Template.Name = fmt.Sprintf("talos-%s-base", c.Talos.Version)
	}
	c.Addons.complete()
}

func (n *Node) complete(c Cluster) {
	n.Host = or(n.Host, c.Proxmox.Host)
	n.DiskStorage = or(n.DiskStorage, c.Proxmox.DiskStorage)
	size := c.Defaults.of(n.Role)
	n.Cores = or(n.Cores, size.Cores)
	n.MemoryMiB = or(n.MemoryMiB, size.MemoryMiB)
	n.DiskGiB = or(n.DiskGiB, size.DiskGiB)
	for at := range n.DataDisks {
		n.DataDisks[at].Storage = or(n.DataDisks[at].Storage, n.DiskStorage)
	}
	if c.Name == "" || n.VMID == 0 {
		return
	}
	n.MAC = or(n.MAC, derivedMAC(c.Name, n.VMID, 0))
	for at := range n.Networks {
		n.Networks[at].MAC = or(n.Networks[at].MAC, derivedMAC(c.Name, n.VMID, at+1))
	}
}

// of is the size of a role, empty for a role that there is not.
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

// or is the value, or the fallback where there is none.
func or[T comparable](value, fallback T) T {
	var none T
	if value == none {
		return fallback
	}
	return value
}
