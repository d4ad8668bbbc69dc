package components

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// Pool is a resource pool of Proxmox VE that machines belong to.
type Pool struct {
	// Name of the pool. Required. A change moves the machines in place.
	Name string
	// Resource that creates the pool. Default: nil, the pool exists already. A change touches no machine.
	Resource pulumi.Resource
}

// PoolArgs describe a pool that is created unless it exists.
type PoolArgs struct {
	// Name of the pool. Required. A change creates another pool.
	Name string
	// API of Proxmox VE. Required. A change looks for the pool again.
	API ProxmoxAPI
	// Owner is the name of the hosts.yaml that the pool belongs to. Its pool is kept while it has no machines. Default: none, the pool is
	// deleted with the last machine in it. A change does not reach a pool that has machines: it keeps the mark of its former owner, so it is
	// not deleted with the stack any more.
	Owner string
}

// NewPool creates a pool unless one of that name exists. Deleting the resource deletes only a pool that was created here, and
// only if it is empty: the provider's own resource would fail if the pool exists, and delete a pool that it did not create. It
// returns an error if an argument is missing.
func NewPool(ctx *pulumi.Context, name string, args *PoolArgs, opts ...pulumi.ResourceOption) (*Pool, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("pool %q: %w", name, err)
	}
	environment := args.API.environment()
	if args.Owner != "" {
		environment[pve.PoolOwnerVariable] = pulumi.String(args.Owner)
	}
	made, err := local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " pool ensure " + args.Name),
		Delete:      pulumi.String(Tool + " pool release " + args.Name),
		Environment: environment,
		Triggers:    pulumi.ToArray([]any{args.Name}),
	}, opts...)
	if err != nil {
		return nil, err
	}
	return &Pool{Name: args.Name, Resource: made}, nil
}

func (args *PoolArgs) validate() error {
	if args == nil {
		return errors.New("args: give PoolArgs")
	}
	return errors.Join(
		require(args.Name != "", "Name", "name the pool"),
		requireName(limits.Pool, args.Name, "Name"),
		args.API.validate(),
	)
}

// name returns the pool's name; empty without a pool.
func (p *Pool) name() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// makers returns the resources that machines of the pool depend on.
func (p *Pool) makers() []pulumi.Resource {
	if p == nil || p.Resource == nil {
		return nil
	}
	return []pulumi.Resource{p.Resource}
}
