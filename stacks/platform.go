package stacks

import (
	"cmp"
	"context"
	"os"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/workspace"
)

// platformProgram deploys a cluster: inventory, providers, template, cluster, addons, outputs.
func platformProgram(ctx *pulumi.Context, settings settings, options Options) (err error) {
	inv, err := loadInventory(settings, options.Root)
	if err != nil {
		return err
	}
	addons, err := addonsOf(ctx, inv, options)
	if err != nil {
		return err
	}
	providers, err := newProviders(ctx, settings, inv.Cluster.Protect)
	if err != nil {
		return err
	}

	// Protection is inherited: set on the top components, it covers everything beneath them.
	shared := pulumi.Composite(providers, pulumi.Protect(inv.Cluster.Protect))
	pool, err := newPool(ctx, inv, settings, options.Until, shared)
	if err != nil {
		return err
	}
	storage, err := newStorage(ctx, inv, settings, options, pulumi.Protect(inv.Cluster.Protect))
	if err != nil {
		return err
	}
	owner := components.NewOwnership(ctx)
	defer func() { owner.Abandon(ctx, err) }()
	templates, err := newTemplates(ctx, inv, settings, before{pool, storage, owner}, options.Until, shared)
	if err != nil {
		return err
	}
	args := runArgs(ctx.Stack(), inv, settings, options)
	args.Pool, args.Templates, args.Ownership = pool, templates, owner
	cluster, err := components.NewTalosCluster(ctx, inv.Cluster.Name, args, shared)
	if err != nil {
		return err
	}
	if addons != nil && options.Until.Reaches(components.PhaseAddons) {
		addons.Cluster = cluster
		if addons.TrueNAS != nil && storage != nil {
			addons.TrueNAS.APIKey = storage.APIKey // that of the driver's own user
		}
		if _, err := components.NewClusterAddons(ctx, inv.Cluster.Name+"-addons", addons, shared); err != nil {
			return err
		}
	}

	reportPlanned(cluster, inv, options.Planned)
	export(ctx, inv, cluster, options)
	return nil
}

// runArgs returns the arguments of the cluster for a run: those of the inventory, and what the options and the environment add.
func runArgs(stack string, inv *inventory.Inventory, settings settings, options Options) *components.TalosClusterArgs {
	args := clusterArgs(inv)
	args.RecoveryTimeout, args.Until = options.RecoveryTimeout, options.Until
	args.Interrupted, args.FormerNames, args.DrainTimeout = options.Interrupted, options.FormerNames, options.DrainTimeout
	args.Runs, args.AwaitsShutdown = runsOn(settings.host()), awaitsShutdownOn(settings.host())
	args.DeleteHeldBack = os.Getenv(nodeops.OverrideVariable) == "yes"
	args.Canary = cmp.Or(options.Canary, args.Canary)
	args.AllowReplace, args.NewBirth, args.Refused, args.Unread = options.AllowReplace, options.NewBirth, options.Refused, options.Unread
	args.Stands = options.Stands
	if args.NewBirth == nil {
		args.NewBirth = uuid.NewString
	}
	args.Snapshot = keepSnapshots(stack, inv, options)
	args.UpgradeKubernetes = options.UpgradeKubernetes
	if args.UpgradeKubernetes == nil {
		args.UpgradeKubernetes = func(ctx context.Context, upgrade components.KubernetesUpgrade) error {
			return components.UpgradeKubernetesByTool(ctx, upgrade, options.Root, options.Env)
		}
	}
	return args
}

// reportPlanned passes the planned configurations of the nodes to report, which may be nil.
func reportPlanned(cluster *components.TalosCluster, inv *inventory.Inventory, report func(node, configuration string)) {
	if report == nil {
		return
	}
	for i, node := range cluster.Nodes {
		name := components.NodeName(inv.Cluster.Name, inv.Nodes[i].Name)
		node.PlannedConfiguration().ApplyT(func(configuration string) string {
			report(name, configuration)
			return configuration
		})
	}
}

// loadInventory loads the inventory of a cluster, with the addresses of systems of other stacks from their files, as validate has checked them.
func loadInventory(s settings, root string) (*inventory.Inventory, error) {
	inv, err := inventory.Load(workspace.Nearby(s.inventory))
	if err == nil {
		err = otherstacks.Resolve(inv, root)
	}
	if err != nil || !s.labNetwork.IsValid() {
		return inv, err
	}
	return inv.Rebase(s.labNetwork)
}

// newPool creates the pool that the inventory names, unless it exists.
func newPool(ctx *pulumi.Context, inv *inventory.Inventory, s settings, until components.Phase, options pulumi.ResourceOption) (*components.Pool, error) {
	if inv.Cluster.Proxmox.Pool == "" || !until.Reaches(components.PhaseProvision) {
		return nil, nil
	}
	return components.NewPool(ctx, inv.Cluster.Name+"-pool", &components.PoolArgs{
		Name: inv.Cluster.Proxmox.Pool,
		API:  s.api(),
	}, options)
}

// before is what is there before the templates and machines.
type before struct {
	pool    *components.Pool
	storage *components.TrueNASStorage
	owner   *components.Ownership
}

// newTemplates creates a template on every host that has a node, or the one that the hosts share.
func newTemplates(ctx *pulumi.Context, inv *inventory.Inventory, s settings, made before, until components.Phase, options pulumi.ResourceOption) ([]*components.TalosTemplate, error) {
	var templates []*components.TalosTemplate
	for _, host := range inv.TemplateHosts() {
		args := templateArgs(inv, s, host)
		args.Pool, args.Ownership, args.Storage, args.Until = made.pool, made.owner, made.storage, until
		template, err := components.NewTalosTemplate(ctx, templateName(inv, host), args, options)
		if err != nil {
			return nil, err
		}
		templates = append(templates, template)
	}
	return templates, nil
}

// templateName returns the logical name. It contains the host's name, which distinguishes the templates of a cluster.
func templateName(inv *inventory.Inventory, host string) string {
	return inv.Cluster.Name + "-template-" + host
}
