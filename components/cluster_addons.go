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
	// namespaces are the created namespaces, by name.
	namespaces map[string]pulumi.Resource
	// last are the resources that later steps depend on; they depend on the earlier ones themselves. A component is never among
	// them: a resource that depends on a component waits only for the children that are registered by then.
	last []pulumi.Resource
	// approver signs the kubelets' certificates; nil without one.
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

// build installs the addons in the order in which a cluster becomes usable. Each step begins when the earlier ones are done.
func (c *ClusterAddons) build(ctx *pulumi.Context) error {
	for _, step := range []func(*pulumi.Context) error{
		c.waitForAPI,
		c.addProvider,
		c.addCilium,
		c.waitForNodes,
		c.addKubeletServingCertApprover,
		c.addMetricsServer,
		c.addTrueNAS,
		c.addEtcdBackup,
		c.addFlux,
		c.addGPUSupport,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addProvider creates the provider. The options are those of its schema:
//   - clusterIdentifier: the cluster stays the same, and its objects are not replaced, if its endpoint or certificate changes;
//   - enableSecretMutable: a rotated key is a change in place, not another Secret;
//   - enableConfigMapMutable: the same for ConfigMaps, which pods name and would not find while one is replaced;
//   - upsertExistingObjects and enablePatchForce: after a destroy that failed halfway, objects can exist without being in
//     the state; the next run adopts them;
//   - skipUpdateUnreachable: while the API does not answer, the objects stay in the state unchanged. Without it a refresh
//     fails, and with it every preview, up and destroy, including the up that starts the machine that serves the API
//     (pulumi-kubernetes v4.30.0, provider.go, Read and Check).
func (c *ClusterAddons) addProvider(ctx *pulumi.Context) (err error) {
	c.Kubernetes, err = kubernetes.NewProvider(ctx, c.name+"-kubernetes", &kubernetes.ProviderArgs{
		Kubeconfig:             c.kubeconfig(),
		ClusterIdentifier:      pulumi.String(c.args.Cluster.args.ClusterName),
		EnableSecretMutable:    pulumi.Bool(true),
		EnableConfigMapMutable: pulumi.Bool(true),
		EnablePatchForce:       pulumi.Bool(true),
		UpsertExistingObjects:  pulumi.Bool(true),
		SkipUpdateUnreachable:  pulumi.Bool(true),
	}, c.next()...)
	return err
}

// kubeconfig returns the cluster's kubeconfig, which is never empty: with an empty one the provider would use the kubeconfig of
// the user who runs the program.
func (c *ClusterAddons) kubeconfig() pulumi.StringOutput {
	return c.args.Cluster.Kubeconfig.ApplyT(func(text string) (string, error) {
		if text == "" {
			return "", fmt.Errorf("the kubeconfig of the cluster %s is empty: run up again", c.args.Cluster.args.ClusterName)
		}
		return text, nil
	}).(pulumi.StringOutput)
}

// next returns the options of a resource that depends on the steps so far.
func (c *ClusterAddons) next(further ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append([]pulumi.ResourceOption{pulumi.Parent(c), pulumi.DependsOn(c.last), within(c.args.Cluster)}, further...)
}

// inCluster returns the options of an object in the cluster.
func (c *ClusterAddons) inCluster(further ...pulumi.ResourceOption) []pulumi.ResourceOption {
	return append(c.next(pulumi.Provider(c.Kubernetes)), further...)
}
