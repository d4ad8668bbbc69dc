package components

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// apiTimeout covers the images of the control plane on a slow line.
	apiTimeout = "15m"
	// nodesTimeout covers the images of the network plugin.
	nodesTimeout = "15m"
)

// waitForAPI is a gate that opens when the Kubernetes API answers at the endpoint of the kubeconfig. It is needed since the
// kubeconfig exists earlier, and a provider that cannot reach its cluster when it starts treats it as unreachable for the whole
// run. It runs again when the endpoint changes, since a virtual address is available only some seconds after its change.
func (c *ClusterAddons) waitForAPI(ctx *pulumi.Context) error {
	gate, err := c.addCommand(ctx, "api", "node ready --server "+c.args.Cluster.args.Endpoint.String()+" --timeout "+apiTimeout)
	if err != nil {
		return err
	}
	c.last = []pulumi.Resource{gate}
	return nil
}

// waitForNodes is a gate that opens when the network plugin has made the nodes Ready: a release that is installed earlier would
// wait for a node until it times out, with an error of Helm that does not name the cause. It runs again when the nodes change.
func (c *ClusterAddons) waitForNodes(ctx *pulumi.Context) error {
	if !c.needsNodes() {
		return nil
	}
	var nodes strings.Builder
	for _, m := range c.args.Cluster.args.Machines {
		fmt.Fprintf(&nodes, "--node %s ", m.Name)
	}
	gate, err := c.addCommand(ctx, "nodes", "node ready "+nodes.String()+"--timeout "+nodesTimeout)
	if err != nil {
		return err
	}
	c.last = []pulumi.Resource{gate}
	return nil
}

// needsNodes reports whether any addon besides the network plugin runs pods.
func (c *ClusterAddons) needsNodes() bool {
	a := c.args
	driver := a.TrueNAS != nil && a.TrueNAS.CSI != nil && a.TrueNAS.CSI.Chart != nil
	return driver || a.KubeletServingCertApprover != nil || a.MetricsServer != nil || a.Flux != nil || a.GPU != nil
}

// addCommand runs an operation of em-infra on the cluster, once, and again when its text changes; never in a preview (F27).
func (c *ClusterAddons) addCommand(ctx *pulumi.Context, suffix, operation string, opts ...pulumi.ResourceOption) (*local.Command, error) {
	return local.NewCommand(ctx, c.name+"-"+suffix, &local.CommandArgs{
		Create: pulumi.String(Tool + " " + operation),
		// An environment does not show in the list of processes.
		Environment: pulumi.StringMap{"EM_INFRA_TALOSCONFIG": c.args.Cluster.Talosconfig},
	}, c.next(opts...)...)
}
