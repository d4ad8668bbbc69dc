package components

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Tool is how a Command finds em-infra. The text is the same whoever runs the program, so that it is never a difference:
// the CLI names itself in EM_INFRA, and Go, which is there wherever this program runs, finds it anywhere in the module. It is
// built as Pulumi's language host builds the program (-trimpath), so that what the two have in common is compiled once.
const Tool = "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra}"

const (
	// readyTimeout covers the download of the installer image, its installation and the reboot on a slow disk.
	readyTimeout = "15m"
	// drainTimeout is how long PodDisruptionBudgets may hold back the removal of a worker (F32), and defaultDrainTimeout the
	// same for a node that is to reboot.
	drainTimeout        = "10m"
	defaultDrainTimeout = 10 * time.Minute
)

// addMembership makes a node a member of the cluster, and takes it out again. Its Command waits, once and never in a
// preview (F27), until the node's secure API answers under the cluster's PKI: applying a configuration returns before the
// installation and the reboot that it causes. When the node leaves the inventory, or its machine is replaced, the Command
// is deleted before the machine, and drains, resets and forgets the node (F25).
func (c *TalosCluster) addMembership(ctx *pulumi.Context, name string, a TalosClusterArgs, index int, after ...pulumi.Resource) (*local.Command, error) {
	m, node := a.Machines[index], c.Nodes[index]
	var former []pulumi.Alias
	if was := a.formerName(name, m); was != "" {
		former = formerly(membershipName(was))
	}
	return local.NewCommand(ctx, membershipName(NodeName(name, m.Name)), &local.CommandArgs{
		Create: pulumi.String(fmt.Sprintf("%s node wait --address %s --timeout %s", Tool, m.endpoint(), readyTimeout)),
		Update: pulumi.String("true"), // renewed credentials are kept for the removal, and are no reason to wait again
		Delete: pulumi.String(m.removal()),
		// An environment does not show in the list of processes. Its endpoints are those of control planes, which the removal
		// of a worker needs.
		Environment: pulumi.StringMap{"EM_INFRA_TALOSCONFIG": c.talosconfigFor(ctx, a, a.controlPlaneEndpoints(), []string{m.endpoint()})},
	}, m.childOf(c), memberOf(c, node.VM), pulumi.DependsOn(append(after, node.Configuration)), pulumi.Aliases(former))
}

// membershipName is the logical name of a node's membership.
func membershipName(node string) string { return node + "-membership" }

// removal is the command that takes a machine out of its cluster.
func (m Machine) removal() string {
	command := fmt.Sprintf("%s node remove --name %s --address %s --drain-timeout %s", Tool, m.Name, m.endpoint(), drainTimeout)
	if m.Role == RoleControlPlane {
		command += " --control-plane"
	}
	return command
}
