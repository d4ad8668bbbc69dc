package components

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// Pool is a resource pool of Proxmox VE that machines belong to.
type Pool struct {
	// Name of the pool. Required. A change moves the machines in place.
	Name string
	// Resource that makes the pool. Default: nil, the pool is there already. A change touches no machine.
	Resource pulumi.Resource
}

// PoolArgs describe one pool that is made unless it is there.
type PoolArgs struct {
	// Name of the pool. Required. A change makes another pool.
	Name string
	// API of Proxmox VE. Required. A change looks for the pool again.
	API ProxmoxAPI
}

// NewPool makes a pool unless there is one of that name. When it is deleted, only a pool that was made here is, and only
// when nothing is left in it: the provider's own resource would fail on a pool that is there, and delete one that it did
// not make. It returns an error when an argument is missing.
func NewPool(ctx *pulumi.Context, name string, args *PoolArgs, opts ...pulumi.ResourceOption) (*Pool, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("pool %q: %w", name, err)
	}
	made, err := local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " pool ensure " + args.Name),
		Delete:      pulumi.String(Tool + " pool release " + args.Name),
		Environment: args.API.environment(),
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

// name is the pool's, or nothing where there is no pool.
func (p *Pool) name() string {
	if p == nil {
		return ""
	}
	return p.Name
}

// makers are what a machine of the pool waits for.
func (p *Pool) makers() []pulumi.Resource {
	if p == nil || p.Resource == nil {
		return nil
	}
	return []pulumi.Resource{p.Resource}
}
