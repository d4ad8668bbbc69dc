package risk

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// node is a machine of the cluster, before and after.
type node struct {
	name          string
	controlPlane  bool
	before, after bool
	machine       *Step // what happens to its virtual machine
}

// leaves says that the node's machine goes, whether one comes in its place or not.
func (n node) leaves() bool {
	return n.before && n.machine != nil && (n.machine.Op == apitype.OpReplace || n.machine.Op == apitype.OpDelete)
}

// topology is the cluster as the steps tell it.
type topology struct {
	nodes map[resource.URN]*node
	order []resource.URN
}

// controlPlane is how a TalosNode's inputs name that role.
const controlPlane = "control-plane"

func topologyOf(all []Step) topology {
	t := topology{nodes: make(map[resource.URN]*node)}
	for _, s := range all {
		if s.URN.Type() == typeNode {
			t.nodes[s.URN] = &node{
				name: s.URN.Name(), controlPlane: text(s.present(), "role") == controlPlane,
				before: s.Op != apitype.OpCreate, after: s.Op != apitype.OpDelete,
			}
			t.order = append(t.order, s.URN)
		}
	}
	for i, s := range all {
		if n := t.nodes[s.Parent]; n != nil && s.URN.Type() == typeVM {
			n.machine = &all[i]
			if name := text(s.present(), "name"); name != "" {
				n.name = name
			}
		}
	}
	return t
}

// controlPlanes are those that stand before the run.
func (t topology) controlPlanes() []*node {
	var found []*node
	for _, urn := range t.order {
		if n := t.nodes[urn]; n.controlPlane && n.before {
			found = append(found, n)
		}
	}
	return found
}

// leaving are the control planes whose machines go.
func (t topology) leaving() []*node {
	var found []*node
	for _, n := range t.controlPlanes() {
		if n.leaves() {
			found = append(found, n)
		}
	}
	return found
}

// losesQuorum says that etcd could no longer agree on anything: fewer members than a majority stay.
func (t topology) losesQuorum() bool {
	members, leaving := len(t.controlPlanes()), len(t.leaving())
	return members > 1 && leaving > 0 && members-leaving < members/2+1
}
