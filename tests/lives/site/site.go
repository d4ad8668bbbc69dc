package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Role of a node in its cluster.
type Role string

// Roles as nodes.yaml has them.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
	GPUWorker    Role = "gpu-worker"
)

// Node is an item of nodes.yaml.
type Node struct {
	Name      string            `json:"name"`
	Role      Role              `json:"role"`
	VMID      int               `json:"vmid"`
	Address   string            `json:"address"`
	Address6  string            `json:"address6,omitempty"`
	Host      string            `json:"host"`
	Cores     int               `json:"cores"`
	MemoryMiB int               `json:"memoryMiB"`
	DiskGiB   int               `json:"diskGiB"`
	DataDisks []DataDisk        `json:"dataDisks,omitempty"`
	Networks  []Network         `json:"networks,omitempty"`
	GPUs      []GPU             `json:"gpus,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Patches   []json.RawMessage `json:"patches,omitempty"`
}

// DataDisk is a further disk.
type DataDisk struct {
	SizeGiB int    `json:"sizeGiB"`
	Mount   string `json:"mount"`
}

// Network is a further network card.
type Network struct {
	Bridge  string `json:"bridge"`
	VLAN    int    `json:"vlan"`
	Address string `json:"address"`
}

// GPU is a device of the host.
type GPU struct {
	BDF         string `json:"bdf"`
	DeviceID    string `json:"deviceId"`
	SubsystemID string `json:"subsystemId"`
	IOMMUGroup  int    `json:"iommuGroup"`
}

// Site is an inventory.
type Site struct {
	Topology Topology
	Nodes    []Node
	Tags     []string
	// Talos and Kubernetes are the patch numbers of v1.12 and v1.35.
	Talos, Kubernetes int
	// Layers are what it has beside the cluster; empty without [Topology.Layers].
	Layers Layers
}

// HasCluster reports whether the site has a cluster, and not layers alone.
func (s Site) HasCluster() bool { return s.Topology.ControlPlanes > 0 }

// The patch releases that lives begin with, and the last one of Talos that the lab's Image Factory has.
const (
	firstTalos      = 4
	lastTalos       = 11
	firstKubernetes = 4
)

// TalosVersion is what the nodes have to run.
func (s Site) TalosVersion() string { return fmt.Sprintf("v1.12.%d", s.Talos) }

// KubernetesVersion is what the cluster has to run.
func (s Site) KubernetesVersion() string { return fmt.Sprintf("v1.35.%d", s.Kubernetes) }

// New returns the inventory of a topology, with nodes named control-1, worker-1, gpu-1 and so on.
func New(t Topology) Site {
	s := Site{Topology: t, Tags: []string{"talos"}, Talos: firstTalos, Kubernetes: firstKubernetes}
	for _, group := range []struct {
		kind  string
		count int
	}{{"control", t.ControlPlanes}, {"worker", t.Workers}, {"gpu", t.GPUWorkers}} {
		for i := range group.count {
			node, _ := s.node(fmt.Sprintf("%s-%d", group.kind, i+1))
			s.Nodes = append(s.Nodes, node)
		}
	}
	if t.Layers {
		s.Layers = newLayers()
	}
	return s
}

// kinds of nodes, by the first word of their names. VMIDs and addresses follow from the number in the name.
var kinds = map[string]struct {
	role                 Role
	vmid, address        int
	cores, memory, drive int
}{
	"control": {ControlPlane, 100, 10, 2, 4096, 32},
	"worker":  {Worker, 110, 20, 2, 4096, 32},
	"gpu":     {GPUWorker, 130, 40, 4, 8192, 64},
}

// node returns a new node of a name; false for a name that is none.
func (s Site) node(name string) (Node, bool) {
	word, digits, _ := strings.Cut(name, "-")
	number, err := strconv.Atoi(digits)
	kind, known := kinds[word]
	if err != nil || !known || number < 1 || number > 9 {
		return Node{}, false
	}
	n := Node{
		Name: name, Role: kind.role, VMID: kind.vmid + number, Address: fmt.Sprintf("192.168.20.%d", kind.address+number),
		Host: Host(1 + (number-1)%s.Topology.Hosts), Cores: kind.cores, MemoryMiB: kind.memory, DiskGiB: kind.drive,
	}
	if s.Topology.DualStack {
		n.Address6 = fmt.Sprintf("fd00:20::%d", kind.address+number)
	}
	if s.Topology.DataDisks && n.Role == Worker {
		n.DataDisks = []DataDisk{{SizeGiB: 10, Mount: "data-1"}}
	}
	if s.Topology.SecondCards && n.Role == Worker {
		n.Networks = []Network{n.secondCard()}
	}
	if n.Role == GPUWorker {
		n.GPUs = []GPU{{BDF: fmt.Sprintf("0000:%02d:00.0", number), DeviceID: "10de:2204", SubsystemID: "1462:3881", IOMMUGroup: 13 + number}}
	}
	return n, true
}

// secondCard has the last number of the first address.
func (n Node) secondCard() Network {
	last := n.Address[strings.LastIndexByte(n.Address, '.')+1:]
	return Network{Bridge: "vmbr0", VLAN: 40, Address: "10.0.40." + last + "/24"}
}

// Host returns the name of a host by its number, from 1.
func Host(number int) string {
	if number == 1 {
		return "vmhost"
	}
	return fmt.Sprintf("vmhost%d", number)
}

// Find returns a node by its name.
func (s Site) Find(name string) (Node, bool) {
	i := s.index(name)
	if i < 0 {
		return Node{}, false
	}
	return s.Nodes[i], true
}

func (s Site) index(name string) int {
	return slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == name })
}

// Names are those of the nodes with a role, "" for all, in the order of the file.
func (s Site) Names(role Role) []string {
	var names []string
	for _, n := range s.Nodes {
		if role == "" || n.Role == role {
			names = append(names, n.Name)
		}
	}
	return names
}

// Templates returns the VMIDs of the templates, by host. A host has a template only if nodes need it.
func (s Site) Templates() map[string]int {
	if s.Topology.Shared {
		return map[string]int{Host(1): firstTemplate}
	}
	templates := map[string]int{}
	for i := range s.Topology.Hosts {
		if slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Host == Host(i+1) }) {
			templates[Host(i+1)] = firstTemplate + i
		}
	}
	return templates
}

const firstTemplate = 9000

// Sysctls are those that a life sets: by an edit, and by hand.
var Sysctls = []string{"vm.max_map_count", "vm.overcommit_memory"}

// Settings returns the sysctls and the rules of udev that the node's patches ask for.
func (n Node) Settings() (sysctls map[string]string, udev []string) {
	sysctls = map[string]string{}
	for _, patch := range n.Patches {
		var machine struct {
			Machine struct {
				Sysctls map[string]string `json:"sysctls"`
				Udev    struct {
					Rules []string `json:"rules"`
				} `json:"udev"`
			} `json:"machine"`
		}
		if json.Unmarshal(patch, &machine) != nil {
			continue // patches are made by edits
		}
		maps.Copy(sysctls, machine.Machine.Sysctls)
		udev = append(udev, machine.Machine.Udev.Rules...)
	}
	return sysctls, udev
}
