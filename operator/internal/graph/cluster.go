// Package graph draws what stacks place on hosts of Proxmox VE: one of a cluster, of systems or of hosts, or all of a site. The SVG needs
// no other font, script or file, and follows the reader's choice of light or dark.
package graph

import (
	"fmt"
	"net/netip"
	"strings"
)

// Cluster is the cluster to draw.
type Cluster struct {
	// Name is the cluster's name.
	Name string
	// Endpoint is the URL of the Kubernetes API.
	Endpoint string
	// Versions are the versions of its software, such as "Talos v1.12.4".
	Versions []string
	// Hosts are the hosts of the machines, in the order of drawing.
	Hosts []Host
	// NAS is what the cluster has on a NAS. Default: nil, nothing.
	NAS *NAS
}

// Host is a host of Proxmox VE.
type Host struct {
	// Name is the host's name.
	Name string
	// Nodes are the nodes on the host, in the order of drawing.
	Nodes []Node
}

// Node is a machine of the cluster.
type Node struct {
	// Name is the node's name.
	Name string
	// Role is the node's role.
	Role Role
	// Addresses are the node's addresses.
	Addresses []netip.Addr
	// VMID is the machine's VMID.
	VMID int
	// Cores, MemoryMiB and DiskGiB are the machine's size.
	Cores, MemoryMiB, DiskGiB int
	// GPUs are the devices that are passed through, one line each. Default: none.
	GPUs []string
	// Health is the node's health. Default: [Unknown].
	Health Health
}

// Role is the role of a node.
type Role int

// Roles of nodes.
const (
	ControlPlane Role = iota
	Worker
	GPUWorker
)

// roles are the label and style class of each role.
var roles = []struct{ label, class string }{{"control plane", "control"}, {"worker", "worker"}, {"GPU worker", "gpu"}}

// Health is the health of a node.
type Health int

// Values of Health.
const (
	// Unknown means that the node was not asked.
	Unknown Health = iota
	// Healthy means that the node answers.
	Healthy
	// Unhealthy means that the node does not answer.
	Unhealthy
)

// healths are the label and style class of each health.
var healths = []struct{ label, class string }{{"not asked", "unknown"}, {"answers", "healthy"}, {"does not answer", "unhealthy"}}

func (c Cluster) scene() scene {
	s := scene{
		title: "Cluster " + c.Name, name: c.Name, about: strings.Join(append([]string{c.Endpoint}, c.Versions...), " · "),
		legend: append(roleMarks(), healthMarks("answers", "does not answer")...),
	}
	s.bands = []band{{areas: areasOf(unframed(c.parts("")))}}
	if c.NAS != nil {
		s.bands = append(s.bands, band{areas: []area{{label: c.NAS.label(), shelves: [][]group{{c.NAS.group("", "frame")}}}}})
	}
	return s
}

func (c Cluster) parts(stack string) []part {
	var parts []part
	for _, host := range c.Hosts {
		nodes := group{label: c.label(stack), class: "frame"}
		for _, node := range host.Nodes {
			nodes.cards = append(nodes.cards, node.card())
		}
		parts = append(parts, part{host: host.Name, shelf: shelfGuests, group: nodes})
	}
	return parts
}

// label names the cluster in the picture of a site, and the stack if that has another name.
func (c Cluster) label(stack string) string {
	if stack == c.Name {
		stack = ""
	}
	return labelled("cluster "+c.Name, stack)
}

func (n Node) card() card {
	health := healths[n.Health]
	return card{
		name: n.Name, hint: roles[n.Role].label + ", " + health.label, stripe: roles[n.Role].class, mark: health.class, lines: n.lines(),
	}
}

// lines returns the text below a node's name.
func (n Node) lines() []string {
	var lines []string
	for _, address := range n.Addresses {
		lines = append(lines, address.String())
	}
	lines = append(lines,
		fmt.Sprintf("VM %d · %s", n.VMID, roles[n.Role].label),
		size(n.Cores, n.MemoryMiB, n.DiskGiB),
	)
	for _, gpu := range n.GPUs {
		lines = append(lines, "GPU "+gpu)
	}
	return lines
}

// size describes a machine or a container.
func size(cores, memoryMiB, diskGiB int) string {
	unit := "cores"
	if cores == 1 {
		unit = "core"
	}
	return fmt.Sprintf("%d %s · %s · %d GiB disk", cores, unit, memory(memoryMiB), diskGiB)
}

func memory(mib int) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}
