package components

import (
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// addKubeletServingCertApprover installs kubelet-csr-approver, for the nodes of this cluster and no others.
func (c *ClusterAddons) addKubeletServingCertApprover(ctx *pulumi.Context) (err error) {
	if c.args.KubeletServingCertApprover == nil {
		return nil
	}
	c.approver, err = c.addRelease(ctx, "kubelet-csr-approver", systemNamespace, *c.args.KubeletServingCertApprover, approverValues(c.args.Cluster.args))
	return err
}

// approverValues restrict approval to the names and networks of the cluster's nodes. DNS is not queried, since it does not have
// these names (values.yaml of the chart).
func approverValues(cluster TalosClusterArgs) map[string]any {
	var names []string
	for _, m := range cluster.Machines {
		names = append(names, regexp.QuoteMeta(m.Name))
	}
	var networks []any
	for _, subnet := range cluster.Network.Subnets {
		networks = append(networks, subnet.String())
	}
	return map[string]any{
		"providerRegex":       "^(" + strings.Join(names, "|") + ")$",
		"providerIpPrefixes":  networks,
		"bypassDnsResolution": true,
	}
}

// addMetricsServer installs metrics-server, which becomes ready when it can trust the kubelets.
func (c *ClusterAddons) addMetricsServer(ctx *pulumi.Context) error {
	if c.args.MetricsServer == nil {
		return nil
	}
	var approved []pulumi.Resource
	if c.approver != nil {
		approved = append(approved, c.approver)
	}
	_, err := c.addRelease(ctx, "metrics-server", systemNamespace, *c.args.MetricsServer, nil, pulumi.DependsOn(approved))
	return err
}
