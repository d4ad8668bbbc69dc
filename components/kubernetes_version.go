package components

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// KubernetesUpgrade is the upgrade of a cluster to another version of Kubernetes.
type KubernetesUpgrade struct {
	// To is the version that everything runs in the end, e.g. v1.36.2.
	To string
	// Nodes of the cluster, control planes first.
	Nodes []rolling.Node
	// Talosconfig of the cluster's administrator. Secret.
	Talosconfig []byte
	// Progress receives a line for each step, without a secret.
	Progress io.Writer
}

// addKubernetesVersion registers the version of Kubernetes. Its Command does nothing: the nodes of a new cluster start with the version
// in their configurations. Another version updates it before any of these configurations is applied, and the hook before that update
// upgrades the cluster: the components in their order, so the configurations that follow find what they ask for (decision 57). The
// text has the version and nothing else, so the Command is updated for no other reason.
func (c *TalosCluster) addKubernetesVersion(ctx *pulumi.Context, name string, a TalosClusterArgs) error {
	hooks, err := c.rollout.kubernetesHooks(kubernetesVersionName(name))
	if err != nil {
		return err
	}
	version, err := local.NewCommand(ctx, kubernetesVersionName(name), &local.CommandArgs{
		Create: pulumi.String("true"),
		Update: pulumi.String(state.KubernetesUpdate(a.KubernetesVersion)),
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

// kubernetesUpgrade returns the upgrade of the cluster to a version.
func kubernetesUpgrade(to string, cluster nodeops.Health) KubernetesUpgrade {
	nodes := slices.Clone(cluster.Nodes)
	slices.SortStableFunc(nodes, func(a, b rolling.Node) int {
		switch {
		case a.ControlPlane == b.ControlPlane:
			return 0
		case a.ControlPlane:
			return -1
		default:
			return 1
		}
	})
	progress := &lineWriter{each: func(line string) { cluster.Say("%s", line) }}
	return KubernetesUpgrade{To: to, Nodes: nodes, Talosconfig: cluster.Talosconfig, Progress: progress}
}

// UpgradeKubernetesByTool runs `em-infra cluster upgrade-kubernetes`: the libraries that it needs would double the program's build. dir
// and env are those of a [ToolRun].
func UpgradeKubernetesByTool(ctx context.Context, upgrade KubernetesUpgrade, dir string, env map[string]string) error {
	var arguments strings.Builder
	fmt.Fprintf(&arguments, "--to %s", upgrade.To)
	for _, node := range upgrade.Nodes {
		flag := "--worker"
		if node.ControlPlane {
			flag = "--control-plane"
		}
		fmt.Fprintf(&arguments, " %s %s=%s", flag, node.Name, node.Address)
	}
	with := map[string]string{"EM_INFRA_TALOSCONFIG": string(upgrade.Talosconfig)}
	for name, value := range env {
		with[name] = value
	}
	return ToolRun{Command: "cluster upgrade-kubernetes", Arguments: arguments.String(), Dir: dir, Env: with, Stdout: upgrade.Progress}.Do(ctx)
}
