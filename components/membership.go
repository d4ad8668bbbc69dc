package components

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Tool is the start of a Command that calls em-infra. The text is the same for every user, so that it never causes a difference: the CLI sets
// EM_INFRA to itself, and without it Go, which exists wherever this program runs, finds the tool from anywhere in this module, or in another one
// that has it as a tool (docs/embedding.md). It is built with -trimpath, like the program by Pulumi's language host, so that the packages of both
// are compiled once.
const Tool = "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra}"

const (
	// readyTimeout covers the download of the installer image, its installation and the reboot on a slow disk.
	readyTimeout = "15m"
	// drainTimeout is how long PodDisruptionBudgets may delay the removal of a worker (F32); defaultDrainTimeout is the same for a
	// node before its reboot.
	drainTimeout        = "10m"
	defaultDrainTimeout = 10 * time.Minute
)

// addMembership registers a node's membership in the cluster. On creation its Command waits, never in a preview (F27), until
// the node's secure API answers with the cluster's PKI, since applying a configuration returns before the installation and the
// reboot that it causes. Another image of Talos updates the Command: it upgrades the node in place. When the node is removed from
// the inventory, or its machine is replaced, the Command is deleted before the machine: it drains and resets the node and deletes
// its Node object (F25).
func (c *TalosCluster) addMembership(ctx *pulumi.Context, name string, a TalosClusterArgs, index int, after ...pulumi.Resource) (*local.Command, error) {
	m, node := a.Machines[index], c.Nodes[index]
	var former []pulumi.Alias
	if was := a.formerName(name, m); was != "" {
		former = formerly(membershipName(was))
	}
	installer, err := a.installerOf(m, node)
	if err != nil {
		return nil, err
	}
	upgrades, err := c.rollout.upgradeHooks(NodeName(name, m.Name), m)
	if err != nil {
		return nil, err
	}
	member, err := local.NewCommand(ctx, membershipName(NodeName(name, m.Name)), &local.CommandArgs{
		Create: pulumi.String(fmt.Sprintf("%s node wait --address %s --timeout %s", Tool, m.endpoint(), readyTimeout)),
		Update: pulumi.String(m.upgradeCommand(installer)), // does nothing when only credentials were renewed, which the removal needs
		Delete: pulumi.String(m.removal()),
		// An environment is not visible in the list of processes. Its endpoints are control planes, which the removal of a worker
		// needs.
		Environment: pulumi.StringMap{"EM_INFRA_TALOSCONFIG": c.talosconfigFor(ctx, a, a.controlPlaneEndpoints(), []string{m.endpoint()})},
	}, m.childOf(c), memberOf(c, node.VM), pulumi.DependsOn(append(after, node.Configuration)), pulumi.Aliases(former), upgrades)
	if err != nil {
		return nil, err
	}
	c.rollout.canary.announce(m.Name, member)
	return member, nil
}

// membershipName returns the logical name of a node's membership.
func membershipName(node string) string { return node + "-membership" }

// removal returns the command that removes a machine from its cluster.
func (m Machine) removal() string {
	command := fmt.Sprintf("%s node remove --name %s --address %s --drain-timeout %s", Tool, m.Name, m.endpoint(), drainTimeout)
	if m.Role == RoleControlPlane {
		command += " --control-plane"
	}
	return command
}
