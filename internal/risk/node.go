package risk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// node is a machine of the cluster, before and after.
type node struct {
	name          string
	controlPlane  bool // it was one, or will be if it did not stand
	member        bool // it was taken into the cluster
	before, after bool
	component     plan.Step
	configured    bool       // before the run
	reset         bool       // it waits for a configuration all the same
	machine       *plan.Step // what happens to its virtual machine
}

// otherFact is something that makes another machine of one, by its key in the inventory.
type otherFact struct{ key, before, after string }

// otherFacts returns what its component tells of before and after. A name is told by em-infra alone: to the engine it would be
// another node.
func (n node) otherFacts() []otherFact {
	var facts []otherFact
	for _, key := range []string{"name", "role", "vmid", "address"} {
		before, after := factOf(n.component.Old, key), factOf(n.component.New, key)
		if before != "" && after != "" && before != after {
			facts = append(facts, otherFact{key, before, after})
		}
	}
	return facts
}

// factOf returns a fact as text; empty when the state does not have it.
func factOf(inputs map[string]any, key string) string {
	if key == "address" {
		var texts []string
		for _, address := range list(inputs, "addresses") {
			texts = append(texts, fmt.Sprint(address))
		}
		return strings.Join(texts, ", ")
	}
	if value := plan.At(inputs, key); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// leaves says that the node's machine goes, whether one comes in its place or not.
func (n node) leaves() bool {
	return n.before && n.machine != nil && (n.machine.Op == apitype.OpReplace || n.machine.Op == apitype.OpDelete)
}

// topology is the cluster as the steps tell it.
type topology struct {
	nodes        map[resource.URN]*node
	order        []resource.URN
	bootstrapped bool // before the run
}

// controlPlane is how a TalosNode's inputs name that role.
const controlPlane = "control-plane"

func topologyOf(all []plan.Step, unconfigured []string) topology {
	t := topology{nodes: make(map[resource.URN]*node)}
	for _, s := range all {
		if s.URN.Type() == token.TalosNode {
			t.nodes[s.URN] = &node{
				name: s.URN.Name(), controlPlane: cmp.Or(plan.Text(s.Old, "role"), plan.Text(s.New, "role")) == controlPlane,
				before: s.Op != apitype.OpCreate, after: s.Op != apitype.OpDelete, component: s, member: isMember(s, all),
			}
			t.order = append(t.order, s.URN)
		}
	}
	for i, s := range all {
		if n := t.nodes[s.Parent]; n != nil && s.URN.Type() == token.VirtualMachine {
			n.machine = &all[i]
			if name := plan.Text(s.Present(), "name"); name != "" {
				n.name = name
			}
		}
		if n := t.nodes[s.Parent]; n != nil && s.URN.Type() == token.Configuration {
			n.configured = s.Op != apitype.OpCreate
		}
		if s.URN.Type() == token.Bootstrap {
			t.bootstrapped = s.Op != apitype.OpCreate
		}
	}
	for _, n := range t.nodes {
		n.reset = slices.Contains(unconfigured, n.name)
	}
	return t
}

// isMember reports whether the state has the membership of a node.
func isMember(node plan.Step, all []plan.Step) bool {
	return slices.ContainsFunc(all, func(s plan.Step) bool {
		return s.URN.Type() == token.Command && s.URN.Name() == node.URN.Name()+"-membership" && s.Op != apitype.OpCreate
	})
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

// leaving returns the control planes whose machines go.
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
