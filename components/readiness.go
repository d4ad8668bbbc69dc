package components

import (
	"fmt"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// tool is how a Command finds em-infra. The text is the same whoever runs the program, so that it is never a difference:
// the CLI names itself in EM_INFRA, and Go, which is there wherever this program runs, finds it anywhere in the module.
const tool = "${EM_INFRA:-go run github.com/em-infra/em-infra/cmd/em-infra}"

// readyTimeout covers the download of the installer image, its installation and the reboot on a slow disk.
const readyTimeout = "15m"

// waitForNode is a gate that opens when the node's secure API answers under the cluster's PKI: applying a configuration
// returns before the installation and the reboot that it causes. It waits once, when it is created, and never in a
// preview (F27).
func (c *TalosCluster) waitForNode(ctx *pulumi.Context, name string, a TalosClusterArgs, index int, after pulumi.Resource) (*local.Command, error) {
	m, node := a.Machines[index], c.Nodes[index]
	address := []string{m.endpoint()}
	options := []pulumi.ResourceOption{
		m.childOf(c),
		livesWith(node.VM),
		pulumi.DependsOn([]pulumi.Resource{node.Configuration}),
		pulumi.IgnoreChanges([]string{"environment"}), // renewed credentials are no reason to wait again
	}
	if after != nil {
		options = append(options, pulumi.DependsOn([]pulumi.Resource{after}))
	}
	return local.NewCommand(ctx, nodeName(name, m.Name)+"-ready", &local.CommandArgs{
		Create:      pulumi.String(fmt.Sprintf("%s node wait --address %s --timeout %s", tool, m.endpoint(), readyTimeout)),
		Environment: pulumi.StringMap{"EM_INFRA_TALOSCONFIG": c.talosconfigFor(ctx, a, address, address)},
	}, options...)
}
