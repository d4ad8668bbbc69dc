package stacks

import (
	"errors"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Run is the program, as `pulumi up` runs it: paths in the stack's configuration are relative to the project.
func Run(ctx *pulumi.Context) error { return program(ctx, Options{Root: ctx.RootDirectory()}) }

// Options are what an embedding knows that an ordinary run takes from its project.
type Options struct {
	// Root is the folder that paths in the stack's configuration are relative to. Required.
	Root string
	// Inventory is the folder with cluster.yaml and nodes.yaml, instead of the one that the configuration names.
	// Default: empty, the configuration's.
	Inventory string
	// RecoveryTimeout is how long a changed node may take to work again. Default: 0, that of the components.
	RecoveryTimeout time.Duration
	// DrainTimeout is how long PodDisruptionBudgets may hold pods back from a node that is to reboot. Default: 0, that of the
	// components.
	DrainTimeout time.Duration
	// Interrupted is closed when somebody interrupts the run: nodes that wait for their turn are left untouched from then
	// on. Default: nil, never.
	Interrupted <-chan struct{}
	// NewBirth gives each machine that is made a UUID that no machine ever had. Default: nil, random ones.
	NewBirth func() string
	// AllowReplace are control planes that may be made anew although the cluster's etcd is lost with them, for an embedding
	// that has taken the bootstrap, and what was installed in the cluster, out of the state. Default: none.
	AllowReplace []string
	// Secrets reads secrets.sops.yaml. Default: nil, em-infra does in a process of its own.
	Secrets SecretsReader
	// FormerNames are those of nodes that the state knows by another name, as [FormerNames] finds them. Default: nil, nobody
	// has looked; a node that has what a node of another name has in the state is then refused.
	FormerNames map[string]string
	// Plugins say of each provider plugin by its name which build of it runs, to be kept with the state. Default: none.
	Plugins map[string]string
	// Planned is told the machine configuration of each node, by its logical name, with the cluster's secrets in it and without the
	// node's own patches; in a preview of a cluster that has no secrets yet it is told of none. It is called from several goroutines.
	// Default: nil, nobody.
	Planned func(node, configuration string)
	// Refused is told of the error by which the program refuses its inventory, or the cluster another birth, before anything is
	// touched; the engine passes on no more than its text. It may be called from another goroutine. Default: nil, nobody.
	Refused func(error)
	// Until is the last phase to register, for a first up step by step. Default: 0, all of them. Once anything of a later
	// phase exists it must be 0: what is not registered is deleted.
	Until components.Phase
}

// Program is the program for an embedding, which has no project folder of its own.
func Program(options Options) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		err := program(ctx, options)
		if problems := new(inventory.Problems); options.Refused != nil && errors.As(err, &problems) {
			options.Refused(err)
		}
		return err
	}
}

// program is the whole of it: settings, inventory, providers, template, cluster, addons, outputs.
func program(ctx *pulumi.Context, options Options) (err error) {
	settings, err := readSettings(ctx, options)
	if err != nil {
		return err
	}
	inv, err := loadInventory(settings)
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
	owner := components.NewOwnership(ctx)
	defer func() { owner.Abandon(ctx, err) }()
	templates, err := newTemplates(ctx, inv, settings, pool, owner, options.Until, shared)
	if err != nil {
		return err
	}
	args := clusterArgs(inv)
	args.RecoveryTimeout, args.Until = options.RecoveryTimeout, options.Until
	args.Interrupted, args.FormerNames, args.DrainTimeout = options.Interrupted, options.FormerNames, options.DrainTimeout
	args.Runs, args.AwaitsShutdown = runsOn(settings.host()), awaitsShutdownOn(settings.host())
	args.DeleteHeldBack = os.Getenv(nodeops.OverrideVariable) == "yes"
	args.AllowReplace, args.NewBirth, args.Refused = options.AllowReplace, options.NewBirth, options.Refused
	if args.NewBirth == nil {
		args.NewBirth = uuid.NewString
	}
	args.Pool, args.Templates, args.Ownership = pool, templates, owner
	cluster, err := components.NewTalosCluster(ctx, inv.Cluster.Name, args, shared)
	if err != nil {
		return err
	}
	if addons != nil && options.Until.Reaches(components.PhaseAddons) {
		addons.Cluster = cluster
		if _, err := components.NewClusterAddons(ctx, inv.Cluster.Name+"-addons", addons, shared); err != nil {
			return err
		}
	}

	tellPlanned(cluster, inv, options.Planned)
	export(ctx, inv, cluster, options)
	return nil
}

// tellPlanned tells what the nodes are given, if anybody wants to know.
func tellPlanned(cluster *components.TalosCluster, inv *inventory.Inventory, tell func(node, configuration string)) {
	if tell == nil {
		return
	}
	for i, node := range cluster.Nodes {
		name := components.NodeName(inv.Cluster.Name, inv.Nodes[i].Name)
		node.PlannedConfiguration().ApplyT(func(configuration string) string {
			tell(name, configuration)
			return configuration
		})
	}
}

func loadInventory(s settings) (*inventory.Inventory, error) {
	inv, err := inventory.Load(workspace.Nearby(s.inventory))
	if err != nil || !s.labNetwork.IsValid() {
		return inv, err
	}
	return inv.Rebase(s.labNetwork)
}

// newPool makes the pool that the inventory names, unless it is there already.
func newPool(ctx *pulumi.Context, inv *inventory.Inventory, s settings, until components.Phase, options pulumi.ResourceOption) (*components.Pool, error) {
	if inv.Cluster.Proxmox.Pool == "" || !until.Reaches(components.PhaseProvision) {
		return nil, nil
	}
	return components.NewPool(ctx, inv.Cluster.Name+"-pool", &components.PoolArgs{
		Name: inv.Cluster.Proxmox.Pool,
		API:  s.api(),
	}, options)
}

// newTemplates makes a template on every host that a node stands on, or the one that the hosts share.
func newTemplates(ctx *pulumi.Context, inv *inventory.Inventory, s settings, pool *components.Pool, owner *components.Ownership, until components.Phase, options pulumi.ResourceOption) ([]*components.TalosTemplate, error) {
	var templates []*components.TalosTemplate
	for _, host := range inv.TemplateHosts() {
		args := templateArgs(inv, s, host)
		args.Pool, args.Ownership, args.Until = pool, owner, until
		template, err := components.NewTalosTemplate(ctx, templateName(inv, host), args, options)
		if err != nil {
			return nil, err
		}
		templates = append(templates, template)
	}
	return templates, nil
}

// templateName is the logical name: the host's own name tells several templates of a cluster apart.
func templateName(inv *inventory.Inventory, host string) string {
	return inv.Cluster.Name + "-template-" + host
}
