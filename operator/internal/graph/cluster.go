// Package graph draws a cluster as a picture: hosts, the machines on them, their roles, addresses and GPUs. The SVG needs no
// font, script or file beside it, and follows the reader's choice of light or dark.
package graph

import (
	"fmt"
	"net/netip"
)

// Cluster is what is drawn.
type Cluster struct {
	// Name of the cluster.
	Name string
	// Endpoint of the Kubernetes API.
	Endpoint string
	// Versions of what runs, such as "Talos v1.12.4".
	Versions []string
	// Hosts that machines stand on, in the order in which they are drawn.
	Hosts []Host
}

// Host is a host of Proxmox VE.
type Host struct {
	// Name of the host.
	Name string
	// Nodes on it, in the order in which they are drawn.
	Nodes []Node
}

// Node is a machine of the cluster.
type Node struct {
	// Name of the node.
	Name string
	// Role of the node.
	Role Role
	// Addresses of the node.
	Addresses []netip.Addr
	// VMID of the machine.
	VMID int
	// Cores, MemoryMiB and DiskGiB are the machine's size.
	Cores, MemoryMiB, DiskGiB int
	// GPUs are the devices that are passed through, one line each. Default: none.
	GPUs []string
	// Health of the node. Default: [Unknown].
	Health Health
}

// Role of a node.
type Role int

// Roles of nodes.
const (
	ControlPlane Role = iota
	Worker
	GPUWorker
)

// roles are how each is written and styled.
var roles = []struct{ label, class string }{{"control plane", "control"}, {"worker", "worker"}, {"GPU worker", "gpu"}}

// Health of a node.
type Health int

// Healths of nodes.
const (
	// Unknown is that of a node which was not asked.
	Unknown Health = iota
	// Healthy is that of a node which answers.
	Healthy
	// Unhealthy is that of a node which does not.
	Unhealthy
)

// healths are how each is written and styled.
var healths = []struct{ label, class string }{{"not asked", "unknown"}, {"answers", "healthy"}, {"does not answer", "unhealthy"}}

// lines are the text below a node's name.
func (n Node) lines() []string {
	var lines []string
	for _, address := range n.Addresses {
		lines = append(lines, address.String())
	}
	lines = append(lines,
		fmt.Sprintf("VM %d · %s", n.VMID, roles[n.Role].label),
		fmt.Sprintf("%d cores · %s · %d GiB disk", n.Cores, memory(n.MemoryMiB), n.DiskGiB),
	)
	for _, gpu := range n.GPUs {
		lines = append(lines, "GPU "+gpu)
	}
	return lines
}

func memory(mib int) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}
