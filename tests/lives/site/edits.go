package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Edit is a change of the inventory that em-infra has to carry out.
type Edit struct {
	// What is changed, a key of [Edits].
	What string
	// Node is the name of the node that it concerns; "" where the edit concerns the cluster.
	Node string
	// Number is the value, where the edit has one.
	Number int
}

// Change is what an edit does.
type Change struct {
	// OfNode is whether it concerns a node, and Numbered whether it has a number.
	OfNode, Numbered bool
	// node changes a node, and site all of them; false is an edit that means nothing here.
	node func(n *Node, number int) bool
	site func(s *Site, node string, number int) bool
}

// Edits are all that there are. None is refused once the loss of control planes is consented to.
var Edits = map[string]Change{
	"memory": {OfNode: true, Numbered: true, node: func(n *Node, mib int) bool { n.MemoryMiB = mib; return true }},
	"cores":  {OfNode: true, Numbered: true, node: func(n *Node, cores int) bool { n.Cores = cores; return true }},
	"disk": {OfNode: true, Numbered: true, node: func(n *Node, more int) bool {
		n.DiskGiB += more
		return true
	}},
	"data-disk": {OfNode: true, Numbered: true, node: addDataDisk},
	"data-disk-grows": {OfNode: true, Numbered: true, node: func(n *Node, more int) bool {
		if len(n.DataDisks) == 0 {
			return false
		}
		n.DataDisks[0].SizeGiB += more
		return true
	}},
	"card": {OfNode: true, node: func(n *Node, _ int) bool {
		n.Networks = []Network{n.secondCard()}
		return true
	}},
	"label": {OfNode: true, Numbered: true, node: func(n *Node, number int) bool {
		n.Labels = map[string]string{Label: strconv.Itoa(number)}
		return true
	}},
	"sysctl": {OfNode: true, Numbered: true, node: patch(`{"machine":{"sysctls":{"vm.max_map_count":"%d"}}}`)},
	"udev":   {OfNode: true, Numbered: true, node: patch(`{"machine":{"udev":{"rules":["SUBSYSTEM==\"drm\", MODE=\"06%02d\""]}}}`)},
	"tags": {Numbered: true, site: func(s *Site, _ string, number int) bool {
		s.Tags = []string{"talos", fmt.Sprintf("tag-%d", number)}
		return true
	}},
	"talos":          {Numbered: true, site: func(s *Site, _ string, patch int) bool { return patch <= lastTalos && upgrade(&s.Talos, patch) }},
	"kubernetes":     {Numbered: true, site: func(s *Site, _ string, patch int) bool { return upgrade(&s.Kubernetes, patch) }},
	"add":            {OfNode: true, site: addNode},
	"remove":         {OfNode: true, site: removeNode},
	"host":           {OfNode: true, Numbered: true, site: moveNode},
	"control-planes": {Numbered: true, site: countControlPlanes},
	"exchange":       {OfNode: true, site: exchange},
	"renumber":       {OfNode: true, node: renumber},
}

// upgrade sets another patch number; there is no way back.
func upgrade(version *int, patch int) bool {
	if patch <= *version {
		return false
	}
	*version = patch
	return true
}

// Label is what the edit of a label sets.
const Label = "lives/label"

// Apply returns the inventory after an edit, and whether the edit means anything to it: a life that was shortened may name a
// node that is not there.
func (s Site) Apply(e Edit) (Site, bool) {
	after := s.clone()
	change, known := Edits[e.What]
	if !known {
		return s, false
	}
	if change.site != nil {
		return after, change.site(&after, e.Node, e.Number)
	}
	i := after.index(e.Node)
	if i < 0 || !change.node(&after.Nodes[i], e.Number) {
		return s, false
	}
	return after, true
}

func (s Site) clone() Site {
	s.Nodes, s.Tags, s.Layers = slices.Clone(s.Nodes), slices.Clone(s.Tags), s.Layers.clone()
	for i, n := range s.Nodes {
		s.Nodes[i].DataDisks, s.Nodes[i].Networks = slices.Clone(n.DataDisks), slices.Clone(n.Networks)
		s.Nodes[i].Labels, s.Nodes[i].Patches = maps.Clone(n.Labels), slices.Clone(n.Patches)
	}
	return s
}

// mostDataDisks bounds what a life gives to one node.
const mostDataDisks = 3

func addDataDisk(n *Node, gib int) bool {
	if n.Role == ControlPlane || len(n.DataDisks) == mostDataDisks {
		return false
	}
	n.DataDisks = append(n.DataDisks, DataDisk{SizeGiB: gib, Mount: fmt.Sprintf("data-%d", len(n.DataDisks)+1)})
	return true
}

func patch(text string) func(n *Node, number int) bool {
	return func(n *Node, number int) bool {
		n.Patches = []json.RawMessage{json.RawMessage(fmt.Sprintf(text, number))}
		return true
	}
}

func addNode(s *Site, name string, _ int) bool {
	n, known := s.node(name)
	if !known || s.index(name) >= 0 {
		return false
	}
	s.Nodes = append(s.Nodes, n)
	return true
}

// removeNode takes a worker out. The last one stays where addons need it for their pods.
func removeNode(s *Site, name string, _ int) bool {
	i := s.index(name)
	if i < 0 || s.Nodes[i].Role == ControlPlane || s.Topology.Addons && s.Nodes[i].Role == Worker && len(s.Names(Worker)) == 1 {
		return false
	}
	s.Nodes = slices.Delete(s.Nodes, i, i+1)
	return true
}

// countControlPlanes grows or shrinks the cluster to one control plane or three. The first ones of the file go.
func countControlPlanes(s *Site, _ string, number int) bool {
	have := len(s.Names(ControlPlane))
	if number == have || number != 1 && number != 3 {
		return false
	}
	for ; have > number; have-- {
		s.Nodes = slices.Delete(s.Nodes, s.index(s.Names(ControlPlane)[0]), s.index(s.Names(ControlPlane)[0])+1)
	}
	for ; have < number; have++ {
		s.Nodes = append(s.Nodes, s.newControlPlane())
	}
	return true
}

// exchange puts a new control plane into the place of one.
func exchange(s *Site, name string, _ int) bool {
	i := s.index(name)
	if i < 0 || s.Nodes[i].Role != ControlPlane {
		return false
	}
	s.Nodes[i] = s.newControlPlane()
	return true
}

// apart is the distance between the two VMIDs of a node.
const apart = 50

// renumber gives a node the other one of its VMIDs: its machine is replaced under its name.
func renumber(n *Node, _ int) bool {
	if word, _, _ := strings.Cut(n.Name, "-"); n.VMID < kinds[word].vmid+apart {
		n.VMID += apart
	} else {
		n.VMID -= apart
	}
	return true
}

// newControlPlane returns the one with the lowest number that is free: there are never nine.
func (s *Site) newControlPlane() (n Node) {
	for number := 1; n.Name == "" || s.index(n.Name) >= 0; number++ {
		n, _ = s.node(fmt.Sprintf("control-%d", number))
	}
	return n
}

// moveNode moves a machine to another host. Where the hosts share their storages, a machine can move while it runs.
func moveNode(s *Site, name string, host int) bool {
	i := s.index(name)
	if i < 0 || !s.Topology.Shared || host < 1 || host > s.Topology.Hosts || s.Nodes[i].Role == GPUWorker {
		return false
	}
	s.Nodes[i].Host = Host(host)
	return true
}
