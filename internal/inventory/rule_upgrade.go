package inventory

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// upgrade checks that the canary is a node, and that there is one to pause after.
func (c *checker) upgrade() {
	upgrade := c.inv.Cluster.Upgrade
	if upgrade.Canary == "" {
		if upgrade.PauseSeconds > 0 {
			c.cluster(key("upgrade", "pauseSeconds"), fault{
				What: "has no canary to pause after", Rule: "the pause follows the upgrade of upgrade.canary", Do: "add canary: NODE beside it, or remove it",
			})
		}
		return
	}
	var names []string
	for _, node := range c.inv.Nodes {
		names = append(names, node.Name)
	}
	if len(names) == 0 || slices.Contains(names, upgrade.Canary) {
		return
	}
	problem := fault{What: "is no node", Rule: "the nodes are " + strings.Join(names, ", "), Got: upgrade.Canary, Do: "choose one of them"}
	if near := strictyaml.Nearest(upgrade.Canary, names); near != "" {
		problem.Rule, problem.Do = "", "did you mean "+near+"?"
	}
	c.cluster(key("upgrade", "canary"), problem)
}
