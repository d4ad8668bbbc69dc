package components

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/cluster"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"

	"github.com/em-infra/em-infra/internal/clusteraccess"
)

// TalosCluster is a Kubernetes cluster of Talos nodes.
type TalosCluster struct {
	pulumi.ResourceState

	// Kubeconfig of the cluster's administrator. Secret. Not set before PhaseBootstrap.
	Kubeconfig pulumi.StringOutput `pulumi:"kubeconfig"`
	// Talosconfig of the cluster's administrator; its endpoints are the control planes' own addresses, never the VIP,
	// which is absent when it is needed most (F28). Secret.
	Talosconfig pulumi.StringOutput `pulumi:"talosconfig"`
	// Nodes of the cluster, in the order of the arguments.
	Nodes []*TalosNode

	secrets *machine.Secrets
	// kubernetesVersion is changed before any configuration is applied; nil before PhaseBootstrap.
	kubernetesVersion pulumi.Resource
	rollout           *rollout
	bootstrap         *machine.Bootstrap
	// steps complete the cluster: each node's membership, and the kubeconfig.
	steps []pulumi.Resource
	// args of the cluster, for its addons.
	args TalosClusterArgs
}

// NewTalosCluster creates a cluster. It returns an error if an argument is missing or invalid.
func NewTalosCluster(ctx *pulumi.Context, name string, args *TalosClusterArgs, opts ...pulumi.ResourceOption) (*TalosCluster, error) {
	a, err := args.complete()
	if err != nil {
		return nil, fmt.Errorf("talos cluster %q: %w", name, err)
	}
	c := &TalosCluster{args: a}
	kept, err := a.refuseChangedFacts(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := ctx.RegisterComponentResourceV2(typeTalosCluster, name, a.summary(), c, append(opts, kept)...); err != nil {
		return nil, err
	}
	if err := c.build(ctx, name, a); err != nil {
		return nil, fmt.Errorf("talos cluster %q: %w", name, err)
	}
	outputs := pulumi.Map{"talosconfig": c.Talosconfig}
	if a.Until.Reaches(PhaseBootstrap) {
		outputs["kubeconfig"] = c.Kubeconfig
	}
	return c, ctx.RegisterResourceOutputs(c, outputs)
}

// build creates the secrets, the nodes, and their memberships.
func (c *TalosCluster) build(ctx *pulumi.Context, name string, a TalosClusterArgs) error {
	if err := c.addSecrets(ctx, name, a); err != nil {
		return err
	}
	c.rollout = newRollout(ctx, a, c.Talosconfig)
	if a.Until.Reaches(PhaseBootstrap) {
		if err := c.addKubernetesVersion(ctx, name, a); err != nil {
			return err
		}
	}
	for _, m := range a.Machines {
		if err := c.addNode(ctx, name, a, m); err != nil {
			return err
		}
	}
	if !a.Until.Reaches(PhaseBootstrap) {
		return nil
	}
	return c.assemble(ctx, name, a)
}

// assemble makes a cluster of the nodes: it waits for the first control plane, bootstraps etcd, gets the kubeconfig, and waits
// for the other nodes.
func (c *TalosCluster) assemble(ctx *pulumi.Context, name string, a TalosClusterArgs) error {
	first := a.firstControlPlane()
	firstMember, err := c.addMembership(ctx, name, a, first)
	if err != nil {
		return err
	}
	c.steps = append(c.steps, firstMember)
	if err := c.bootstrapOn(ctx, name, a.Machines[first], firstMember); err != nil {
		return err
	}
	if err := c.addKubeconfig(ctx, name, a, a.Machines[first]); err != nil {
		return err
	}
	return c.addOtherMembers(ctx, name, a, firstMember)
}

// addOtherMembers registers the other control planes and then the workers, which are upgraded after them, except for the canary.
// None of them waits for the bootstrap, which waits for the first control plane: in an upgrade that one would always be the first,
// although it may lead etcd.
func (c *TalosCluster) addOtherMembers(ctx *pulumi.Context, name string, a TalosClusterArgs, firstMember pulumi.Resource) error {
	controlPlanes := []pulumi.Resource{firstMember}
	for _, role := range []Role{RoleControlPlane, RoleWorker} {
		for i, m := range a.Machines {
			if i == a.firstControlPlane() || m.Role != role {
				continue
			}
			var after []pulumi.Resource
			if role == RoleWorker && !c.rollout.canary.is(m.Name) {
				after = controlPlanes
			}
			member, err := c.addMembership(ctx, name, a, i, after...)
			if err != nil {
				return err
			}
			if role == RoleControlPlane {
				controlPlanes = append(controlPlanes, member)
			}
			c.steps = append(c.steps, member)
		}
	}
	return nil
}

func (c *TalosCluster) addSecrets(ctx *pulumi.Context, name string, a TalosClusterArgs) (err error) {
	c.secrets, err = machine.NewSecrets(ctx, name+"-secrets", &machine.SecretsArgs{
		TalosVersion: pulumi.String(a.Contract),
	}, pulumi.Parent(c), fixedContract())
	if err != nil {
		return err
	}
	a.Ownership.of(c.secrets)
	c.Talosconfig = c.talosconfigFor(ctx, a, a.controlPlaneEndpoints(), a.endpoints())
	return nil
}

func (c *TalosCluster) addNode(ctx *pulumi.Context, name string, a TalosClusterArgs, m Machine) error {
	template := a.templateFor(m.Host)
	configuration, err := c.machineConfiguration(ctx, a, m, template.InstallerImage)
	if err != nil {
		return err
	}
	next := &nextConfiguration{}
	hooks, err := c.rollout.hooks(NodeName(name, m.Name), m, next)
	if err != nil {
		return err
	}
	node, err := c.newNode(ctx, NodeName(name, m.Name), TalosNodeArgs{
		Machine:              m,
		Network:              a.Network,
		Pool:                 a.Pool,
		Ownership:            a.Ownership,
		Template:             template,
		ClientConfiguration:  c.secrets.ClientConfiguration,
		MachineConfiguration: configuration,
		Hooks:                hooks,
		Birth:                a.newBirth(),
		Until:                a.Until,
		formerName:           a.formerName(name, m),
		next:                 next,
		kubernetesVersion:    c.kubernetesVersion,
	}, m.childOf(c))
	if err != nil {
		return err
	}
	c.Nodes = append(c.Nodes, node)
	return nil
}

// bootstrapOn sets no timeouts, although two minutes would do now that the node answers, and AlreadyExists would be reported
// sooner (F6): the provider fails to record a resource with timeouts (pulumiverse/pulumi-talos#208).
func (c *TalosCluster) bootstrapOn(ctx *pulumi.Context, name string, m Machine, ready pulumi.Resource) error {
	restart, err := c.rollout.restartKubelets(name)
	if err != nil {
		return err
	}
	c.bootstrap, err = machine.NewBootstrap(ctx, BootstrapName(name), &machine.BootstrapArgs{
		Node:                pulumi.String(m.endpoint()),
		Endpoint:            pulumi.String(m.endpoint()),
		ClientConfiguration: c.secrets.ClientConfiguration,
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{ready}), bootstrappedOnce(), restart)
	return err
}

// addKubeconfig gets the kubeconfig from a control plane, and sets the endpoint in it: the provider gets a new kubeconfig only
// shortly before the certificate expires (siderolabs/terraform-provider-talos v0.10.1,
// pkg/talos/talos_cluster_kubeconfig_resource.go, Update), so it would keep the first endpoint.
func (c *TalosCluster) addKubeconfig(ctx *pulumi.Context, name string, a TalosClusterArgs, m Machine) error {
	credentials := c.secrets.ClientConfiguration
	kubeconfig, err := cluster.NewKubeconfig(ctx, name+"-kubeconfig", &cluster.KubeconfigArgs{
		Node:     pulumi.String(m.endpoint()),
		Endpoint: pulumi.String(m.endpoint()),
		ClientConfiguration: cluster.KubeconfigClientConfigurationArgs{
			CaCertificate:     credentials.CaCertificate(),
			ClientCertificate: credentials.ClientCertificate(),
			ClientKey:         credentials.ClientKey(),
		},
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{c.bootstrap}), signedBy(c.secrets))
	if err != nil {
		return err
	}
	c.steps = append(c.steps, kubeconfig)
	leading := kubeconfig.KubeconfigRaw.ApplyT(func(text string) (string, error) {
		if text == "" {
			return "", nil // the code that needs one reports it
		}
		return clusteraccess.KubeconfigAt(text, a.Endpoint.String())
	})
	c.Kubeconfig = pulumi.ToSecret(leading).(pulumi.StringOutput)
	return nil
}
