package inventory

import (
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// nics checks the network cards of all nodes: their bridges, and that MAC addresses are unique. Derived addresses differ in 24
// bits, so two can be equal; then one must be given.
func (c *checker) nics() {
	taken := make(map[MAC]nicOfNode, len(c.inv.Nodes))
	for i, node := range c.inv.Nodes {
		path := nodePath(i)
		c.mac(node.MAC, nicOfNode{path, i, node.VMID}, taken)
		for j, nic := range node.NICs {
			at := path.Key("networks").Index(j)
			checkName(limits.Bridge, nic.Bridge, at.Key("bridge"), c.node)
			c.mac(nic.MAC, nicOfNode{at, i, node.VMID}, taken)
		}
	}
}

// nicOfNode is the place of a network card in the file.
type nicOfNode struct {
	path       *strictyaml.Path
	node, vmid int
}

func (c *checker) mac(mac MAC, owner nicOfNode, taken map[MAC]nicOfNode) {
	if mac.IsZero() {
		return
	}
	at := owner.path.Key("mac")
	first, twice := taken[mac]
	switch {
	case !twice:
		taken[mac] = owner
	case c.inv.nodesSource.Has(at):
		c.node(at, fault{
			What: "is the MAC address of " + first.path.String() + " too", Rule: "MAC addresses are unique", Got: mac.String(),
			Do: AnotherMAC,
		})
	case first.node == owner.node || first.vmid != owner.vmid: // else the VMID is the problem, which is reported
		c.node(at, fault{
			What: "would be derived as that of " + first.path.String() + " is", Rule: "MAC addresses are unique",
			Got: mac.String(), Do: "give a mac here, one like " + DerivedMAC(c.inv.Cluster.Name, limits.VMID.Max+1, len(taken)).String(),
		})
	}
}
