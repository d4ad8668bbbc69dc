package stacks

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Run is the program, as `pulumi up` runs it: paths in the stack's configuration are relative to the project.
func Run(ctx *pulumi.Context) error {
	at := &workspace.Workspace{Dir: ctx.RootDirectory(), Stack: ctx.Stack()}
	if err := checkBackend(at, os.Getenv); err != nil {
		return err
	}
	provider, err := at.SecretsProvider()
	if err != nil {
		return err
	}
	workDir, err := os.Getwd() // a program is started where the plugins are
	if err != nil {
		return err
	}
	return program(ctx, Options{Root: ctx.RootDirectory(), WorkDir: workDir, SecretsProvider: provider})
}

// Options are the settings of an embedding that an ordinary run takes from its project.
type Options struct {
	// Root is the folder that paths in the stack's configuration are relative to. Required.
	Root string
	// WorkDir is the folder in which the engine starts its plugins: that of [Embedding], unless its Pulumi.yaml names another one as main.
	// Charts in it are named relative to it, so that their paths are the same on every machine. Default: empty, all paths of charts are
	// absolute.
	WorkDir string
	// Inventory is the folder with cluster.yaml and nodes.yaml, instead of the one that the configuration names.
	// Default: empty, the configuration's.
	Inventory string
	// RecoveryTimeout is how long a changed node may take to work again. Default: 0, the default of the components.
	RecoveryTimeout time.Duration
	// DrainTimeout is how long PodDisruptionBudgets may hold pods back from a node that is to reboot. Default: 0, the default of
	// the components.
	DrainTimeout time.Duration
	// Interrupted is closed when the user interrupts the run: waiting nodes are left untouched from then on. Default: nil, never.
	Interrupted <-chan struct{}
	// NewBirth returns a UUID that was never used, for each new machine. Default: nil, random ones.
	NewBirth func() string
	// AllowReplace are control planes that may be created again although the cluster's etcd is lost with them, for an embedding
	// that has removed the bootstrap, and what was installed in the cluster, from the state. Default: none.
	AllowReplace []string
	// Secrets reads secrets.sops.yaml. Default: nil, em-infra reads it in a process of its own.
	Secrets SecretsReader
	// Snapshots is the folder for snapshots of etcd, which are taken before a control plane is changed. Default: empty, that of the
	// project's backups.
	Snapshots string
	// SparedSnapshots are the names of snapshots of etcd that stay when another one is taken, regardless of the rule of the inventory. Default: none.
	SparedSnapshots []string
	// BucketStandIn is the URL of what stands for the bucket of the inventory, in a rehearsal; a folder is created. Default: empty, the
	// bucket itself.
	BucketStandIn string
	// CopySnapshots copies snapshots of etcd into the bucket of the inventory. Default: nil, em-infra does it in a process of its own, with
	// Env.
	CopySnapshots SnapshotCopier
	// Env is the environment of the engine, as in [Embedding]: the passphrase in it seals the snapshots. Default: nil, that of this
	// process.
	Env map[string]string
	// SecretsProvider is the secrets provider of the stack, as its file names it: with a key service, there is no passphrase that could seal
	// the snapshots. Default: empty, a passphrase.
	SecretsProvider string
	// FormerNames are the names in the state of nodes that the inventory names differently, from [FormerNames]. Default: nil, the
	// state was not searched; a node with the VMID or an address of a node of another name in the state is then refused.
	FormerNames map[string]string
	// Plugins maps the name of each provider plugin to the build of it that runs, to be stored in the state. Default: none.
	Plugins map[string]string
	// Planned is called with the machine configuration of each node, by its logical name, with the cluster's secrets in it and
	// without the node's own patches; in a preview of a cluster without secrets it is not called. It is called from several
	// goroutines. Default: nil, no call.
	Planned func(node, configuration string)
	// UpgradeKubernetes upgrades a running cluster to another version of Kubernetes. Default: nil, em-infra does it in a process of its
	// own, with Env.
	UpgradeKubernetes func(context.Context, components.KubernetesUpgrade) error
	// Unread is called with the name of each node whose machine configuration changes only in what the node does not read while it
	// runs, in a preview too. It is called from several goroutines. Default: nil, no call.
	Unread func(node string)
	// Refused is called with the error by which the program refuses its inventory or changed facts of birth, before anything is
	// changed; the engine passes on only its text. It may be called from another goroutine. Default: nil, no call.
	Refused func(error)
	// Canary is the name of the node that gets another image of Talos first. Default: empty, the one of the inventory.
	Canary string
	// Stands is whether the cluster exists and is only recorded, by providers that answer with what is there. Default: false.
	Stands bool
	// Until is the last phase to register, for a first up step by step. Default: 0, all of them. Once a resource of a later phase
	// exists it must be 0: resources that are not registered are deleted.
	Until components.Phase
}

// Program returns the program for an embedding, which has no project folder of its own.
func Program(options Options) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		err := apart(func() error { return program(ctx, options) })
		if problems := new(inventory.Problems); options.Refused != nil && errors.As(err, &problems) {
			options.Refused(err)
		}
		return err
	}
}

// apart runs a body in a goroutine of its own. With each resource the SDK keeps the calls that led to its registration, from the beginning of the
// goroutine on (pulumi sdk/v3 v3.254.0, go/pulumi/context.go, getStackTrace). In the goroutine in which the SDK calls a program, two thirds of
// these calls are its own and gRPC's: 6 KB of the state for each node. A panic of the body becomes one of the caller.
func apart(body func() error) (err error) {
	var panicked any
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { panicked = recover() }()
		err = body()
	}()
	<-ended
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// program deploys the stack: its settings, then what its kind is made of.
func program(ctx *pulumi.Context, options Options) error {
	settings, err := readSettings(ctx, options)
	if err != nil {
		return err
	}
	kind, err := manifest.KindOf(settings.inventory)
	if err != nil {
		return err
	}
	switch kind {
	case manifest.Hosts:
		return hostsProgram(ctx, settings, options)
	case manifest.Systems:
		return systemsProgram(ctx, settings, options)
	default:
		return platformProgram(ctx, settings, options)
	}
}
