package components

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// addKubernetesVersion registers the version of Kubernetes. Its Command does nothing when it is created: the nodes start with the
// version in their configurations. Another version updates it, before any of these configurations is applied: the components are
// upgraded in their order, and the configurations that follow find what they ask for (decision 57). It is also updated when nodes
// come and go, and when credentials are renewed; it then finds that everything runs the version.
func (c *TalosCluster) addKubernetesVersion(ctx *pulumi.Context, name string, a TalosClusterArgs) error {
	hooks, err := c.rollout.wholeClusterHooks(kubernetesVersionName(name))
	if err != nil {
		return err
	}
	version, err := local.NewCommand(ctx, kubernetesVersionName(name), &local.CommandArgs{
		Create: pulumi.String("true"),
		Update: pulumi.String(a.kubernetesUpgrade()),
		// An environment is not visible in the list of processes.
		Environment: pulumi.StringMap{"EM_INFRA_TALOSCONFIG": c.talosconfigFor(ctx, a, a.controlPlaneEndpoints(), a.controlPlaneEndpoints())},
	}, pulumi.Parent(c), hooks)
	if err == nil { // else the interface would hold a nil Command
		c.kubernetesVersion = version
	}
	return err
}

// after makes a resource depend on another one, if there is one.
func after(other pulumi.Resource) pulumi.ResourceOption {
	if other == nil {
		return pulumi.Composite()
	}
	return pulumi.DependsOn([]pulumi.Resource{other})
}

// kubernetesVersionName returns the logical name of a cluster's version of Kubernetes.
func kubernetesVersionName(cluster string) string { return cluster + "-kubernetes" }

// kubernetesUpgrade returns the command that upgrades the Kubernetes of the cluster.
func (args TalosClusterArgs) kubernetesUpgrade() string {
	var command strings.Builder
	fmt.Fprintf(&command, "%s cluster upgrade-kubernetes --to %s", Tool, args.KubernetesVersion)
	for _, m := range args.Machines {
		flag := "--worker"
		if m.Role == RoleControlPlane {
			flag = "--control-plane"
		}
		fmt.Fprintf(&command, " %s %s=%s", flag, m.Name, m.endpoint())
	}
	return command.String()
}
