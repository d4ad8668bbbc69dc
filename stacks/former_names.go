package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/birth"
	"github.com/em-infra/em-infra/internal/inventory"
)

// FormerNames finds the nodes of an inventory that a state knows by another name, since only the engine knows the state
// and only by names: the name of each such node, and the one that it had. The inventory is the one that is deployed, which
// is moved to the lab's network in a rehearsal. The error says which nodes cannot be what the inventory wants in one run.
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

// Rename gives nodes their names in a state, whose former ones [FormerNames] has found.
func Rename(deployment *apitype.DeploymentV3, inv *inventory.Inventory, former map[string]string) {
	for _, node := range inv.Nodes {
		if was, renamed := former[node.Name]; renamed {
			birth.Rename(deployment, was, components.NodeName(inv.Cluster.Name, node.Name))
		}
	}
}
