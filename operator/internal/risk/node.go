package risk

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// node is a machine of the cluster, before and after the run.
type node struct {
	name          string
	controlPlane  bool // before the run, or after it if the node is new
	member        bool // the node has joined the cluster
	before, after bool
	component     plan.Step
	configured    bool       // before the run
	reset         bool       // it waits for a configuration although it was configured
	machine       *plan.Step // the step of its virtual machine
	unread        bool       // its configuration changes only in what it does not read while it runs
	runs          Image      // what it reports; zero if it did not answer
}

// otherFact is a fact whose change replaces the machine, by its key in the inventory.
type otherFact struct{ key, before, after string }

// otherFacts returns the changed facts of its component. Only em-infra can detect a changed name: for the engine it is another
// node.
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

// factOf returns a fact as text; empty if the state does not contain it.
func factOf(inputs map[string]any, key string) string {
	if key == "address" {
		var texts []string
		for _, address := range propertymap.List(inputs, "addresses") {
			texts = append(texts, fmt.Sprint(address))
		}
		return strings.Join(texts, ", ")
	}
	if value := propertymap.At(inputs, key); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// topology is the cluster according to the steps.
type topology struct {
	nodes        map[resource.URN]*node
	order        []resource.URN
	bootstrapped bool // before the run
	restore      *Restore
	freed        map[string]string       // the VMIDs of systems that are deleted, with their names
	systems      map[resource.URN]string // the names of systems, by their components
	sources      map[string][]string     // the Commands that stay of what systems are made from, by their volumes
}

// controlPlane is that role in a TalosNode's inputs.
const controlPlane = "control-plane"

func topologyOf(all []plan.Step, seen Seen) topology {
	t := topology{nodes: make(map[resource.URN]*node), restore: seen.Restore, freed: freedBySystems(all), systems: systemsOf(all), sources: sourcesAfter(all)}
	for _, s := range all {
		if s.URN.Type() == token.TalosNode {
			t.nodes[s.URN] = &node{
				name: cmp.Or(propertymap.Text(s.Present(), "name"), s.URN.Name()), controlPlane: cmp.Or(propertymap.Text(s.Old, "role"), propertymap.Text(s.New, "role")) == controlPlane,
				before: s.Op != apitype.OpCreate, after: s.Op != apitype.OpDelete, component: s, member: isMember(s, all),
			}
			t.order = append(t.order, s.URN)
		}
	}
	for i, s := range all {
		if n := t.nodes[s.Parent]; n != nil && s.URN.Type() == token.VirtualMachine {
			n.machine = &all[i]
			// In a state without facts of the component the machine has the name, unless it was renamed by hand.
			if name := propertymap.Text(s.Present(), "name"); name != "" && propertymap.Text(n.component.Present(), "name") == "" {
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
		n.reset, n.runs = slices.Contains(seen.Unconfigured, n.name), seen.Images[n.name]
		n.unread = slices.Contains(seen.Unread, n.name)
	}
	return t
}

// isMember reports whether the state contains the membership of a node.
func isMember(node plan.Step, all []plan.Step) bool {
	return slices.ContainsFunc(all, func(s plan.Step) bool {
		return s.URN.Type() == token.Command && s.URN.Name() == node.URN.Name()+membershipSuffix && s.Op != apitype.OpCreate
	})
}

// membershipSuffix follows the name of a node in that of its membership, which is a child of the cluster.
const membershipSuffix = "-membership"

// memberOf returns the node of a membership; nil for another resource.
func (t topology) memberOf(s plan.Step) *node {
	for urn, n := range t.nodes {
		if s.URN.Name() == urn.Name()+membershipSuffix {
			return n
		}
	}
	return nil
}

// controlPlanes returns the control planes that exist before the run.
func (t topology) controlPlanes() []*node {
	var found []*node
	for _, urn := range t.order {
		if n := t.nodes[urn]; n.controlPlane && n.before {
			found = append(found, n)
		}
	}
	return found
}

// besides returns the number of other control planes that the cluster has after the run.
func (t topology) besides(n *node) int {
	count := 0
	for _, other := range t.nodes {
		if other != n && other.isControlPlaneAfter() {
			count++
		}
	}
	return count
}

// isControlPlaneAfter reports whether the node is a control plane when the run is done.
func (n *node) isControlPlaneAfter() bool {
	return n.after && cmp.Or(propertymap.Text(n.component.New, "role"), propertymap.Text(n.component.Old, "role")) == controlPlane
}

// recovers reports whether a node is the only control plane and its machine is replaced.
func (t topology) recovers(n *node) bool {
	return n.controlPlane && n.member && n.machine != nil && n.machine.Op == apitype.OpReplace && n.isControlPlaneAfter() && t.besides(n) == 0
}
