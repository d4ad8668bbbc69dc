package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/birth"
	"github.com/em-infra/em-infra/internal/inventory"
)

// FormerNames returns the former name of each node whose name in the state differs, by its present name. The inventory is the
// deployed one, which in a rehearsal is moved to the lab's network. The error names the nodes whose change is not possible in
// one run.
func FormerNames(deployment apitype.DeploymentV3, inv *inventory.Inventory) (map[string]string, error) {
	wanted, names := []birth.Machine(nil), map[string]string{}
	for _, node := range inv.Nodes {
		m := birth.Machine{
			Name: components.NodeName(inv.Cluster.Name, node.Name), ControlPlane: node.Role == inventory.RoleControlPlane, VMID: node.VMID,
		}
		for _, address := range node.Prefixes(inv.Cluster) {
			m.Addresses = append(m.Addresses, address.Addr().String())
		}
		wanted, names[m.Name] = append(wanted, m), node.Name
	}
	found, err := birth.FormerNames(birth.InState(deployment), wanted)
	former := map[string]string{}
	for logical, was := range found {
		former[names[logical]] = was
	}
	return former, err
}

// Rename renames nodes in a state, from the former names that [FormerNames] returned.
func Rename(deployment *apitype.DeploymentV3, inv *inventory.Inventory, former map[string]string) {
	for _, node := range inv.Nodes {
		if was, renamed := former[node.Name]; renamed {
			birth.Rename(deployment, was, components.NodeName(inv.Cluster.Name, node.Name))
		}
	}
}

// Predecessors returns the names that the nodes had whose machines are replaced under another name, by their present names. Unlike
// [FormerNames] it still knows them when a run that was killed has renamed them in the state.
func Predecessors(deployment apitype.DeploymentV3, inv *inventory.Inventory, former map[string]string) map[string]string {
	born := map[string]string{}
	for _, machine := range birth.InState(deployment) {
		born[machine.Name] = machine.Born
	}
	predecessors := map[string]string{}
	for _, node := range inv.Nodes {
		logical := components.NodeName(inv.Cluster.Name, node.Name)
		if was, renamed := former[node.Name]; renamed {
			logical = was
		}
		if name := born[logical]; name != "" && name != node.Name {
			predecessors[node.Name] = name
		}
	}
	return predecessors
}
