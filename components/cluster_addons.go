package components

import (
	"fmt"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ClusterAddons are the addons of a cluster: the network plugin, keys for workloads, Flux and its objects, GPU support.
// Destroying the cluster removes them without a call to the Kubernetes API, which may be dead (F26); removing a single addon
// removes it from the running cluster.
type ClusterAddons struct {
	pulumi.ResourceState

	// Kubernetes is the provider for objects in the cluster, for what this component does not cover.
	Kubernetes *kubernetes.Provider

	name string
	args ClusterAddonsArgs
	// namespaces that were created, by name.
	namespaces map[string]pulumi.Resource
	// last are the resources that later steps depend on; they depend on the earlier ones themselves. A component is never among
	// them: a resource that depends on a component waits only for the children that are registered by then.
	last []pulumi.Resource
	// approver of the kubelets' certificates; nil without one.
	approver pulumi.Resource
}

// NewClusterAddons installs the addons. It returns an error if an argument is missing or invalid.
func NewClusterAddons(ctx *pulumi.Context, name string, args *ClusterAddonsArgs, opts ...pulumi.ResourceOption) (*ClusterAddons, error) {
	a, err := args.complete()
	if err != nil {
		return nil, fmt.Errorf("cluster addons %q: %w", name, err)
	}
	c := &ClusterAddons{name: name, args: a, namespaces: map[string]pulumi.Resource{}, last: a.Cluster.steps}
	if err := ctx.RegisterComponentResourceV2(typeClusterAddons, name, a.summary(), c, opts...); err != nil {
		return nil, err
	}
	if err := c.build(ctx); err != nil {
		return nil, fmt.Errorf("cluster addons %q: %w", name, err)
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{})
}

// build is the order in which a cluster becomes usable. Each step begins when those before it are done.
func (c *ClusterAddons) build(ctx *pulumi.Context) error {
	for _, step := range []func(*pulumi.Context) error{
		c.waitForAPI,
		c.addProvider,
		c.addCilium,
		c.waitForNodes,
		c.addKubeletServingCertApprover,
		c.addMetricsServer,
		c.addTrueNAS,
		c.addFlux,
		c.addGPUSupport,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addProvider makes the provider. The options are those of its schema:
//   - clusterIdentifier: another endpoint or certificate is the same cluster, whose objects must not be replaced;
//   - enableSecretMutable: a rotated key is a change in place, not another Secret;
//   - upsertExistingObjects and enablePatchForce: a destroy that failed half way has forgotten objects that are still
//     there, and the next run takes them over;
//   - skipUpdateUnreachable: while nobody answers, what is in the cluster stays in the state as it is. Without it the read
//     of a refresh fails, and with it every preview, up and destroy: also the up that starts the machine of which that is
//     the API (pulumi-kubernetes v4.30.0, provider.go, Read and Check).
func (c *ClusterAddons) addProvider(ctx *pulumi.Context) (err error) {
	c.Kubernetes, err = kubernetes.NewProvider(ctx, c.name+"-kubernetes", &kubernetes.ProviderArgs{
		Kubeconfig:            c.kubeconfig(),
		ClusterIdentifier:     pulumi.String(c.args.Cluster.args.ClusterName),
		EnableSecretMutable:   pulumi.Bool(true),
		EnablePatchForce:      pulumi.Bool(true),
		UpsertExistingObjects: pulumi.Bool(true),
		SkipUpdateUnreachable: pulumi.Bool(true),
	}, c.next()...)
	return err
}

// kubeconfig is the cluster's and never empty: with an empty one the provider would use the kubeconfig of whoever runs the
// program.
func (c *ClusterAddons) kubeconfig() pulumi.StringOutput {
	return c.args.Cluster.Kubeconfig.ApplyT(func(text string) (string, error) {
		if text == "" {
			return "", fmt.Errorf("the kubeconfig of the cluster %s is empty: run up again", c.args.Cluster.args.ClusterName)
		}
		return text, nil
	}).(pulumi.StringOutput)
}

// next are the options of a resource that depends on the steps so far.
func (c *ClusterAddons) next(further ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append([]pulumi.ResourceOption{pulumi.Parent(c), pulumi.DependsOn(c.last), within(c.args.Cluster)}, further...)
}

// inCluster are the options of an object.
func (c *ClusterAddons) inCluster(further ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append(c.next(pulumi.Provider(c.Kubernetes)), further...)
}
