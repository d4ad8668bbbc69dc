package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Names of the outputs of a stack that configures hosts, beside [OutputContract] and [OutputPlugins]. They are a contract.
const (
	// OutputHosts are the names of the hosts.
	OutputHosts = "proxmoxHosts"
	// OutputPools are the names of the resource pools.
	OutputPools = "proxmoxPools"
)

// hostsProgram configures hosts: inventory, providers, the component, outputs.
func hostsProgram(ctx *pulumi.Context, settings settings, options Options) error {
	inv, err := hosts.Load(workspace.Nearby(settings.inventory))
	if err != nil {
		return err
	}
	providers, err := newHostProviders(ctx, settings, inv.File.Protect)
	if err != nil {
		return err
	}
	shared := pulumi.Composite(providers, pulumi.Protect(inv.File.Protect))
	if _, err := components.NewProxmoxHost(ctx, inv.File.Name, proxmoxHostArgs(inv, settings), shared); err != nil {
		return err
	}
	exportHosts(ctx, inv, options)
	return nil
}

// proxmoxHostArgs returns the arguments of the component for the inventory.
func proxmoxHostArgs(inv *hosts.Inventory, s settings) *components.ProxmoxHostArgs {
	args := &components.ProxmoxHostArgs{API: s.api(), Hosts: inv.Hosts()}
	for _, pool := range inv.File.Pools {
		args.Pools = append(args.Pools, pool.Name)
	}
	return args
}

func exportHosts(ctx *pulumi.Context, inv *hosts.Inventory, options Options) {
	pools := make([]string, len(inv.File.Pools))
	for i, pool := range inv.File.Pools {
		pools[i] = pool.Name
	}
	ctx.Export(OutputContract, pulumi.String(OutputContractVersion))
	ctx.Export(OutputHosts, pulumi.ToStringArray(inv.Hosts()))
	ctx.Export(OutputPools, pulumi.ToStringArray(pools))
	if len(options.Plugins) > 0 {
		ctx.Export(OutputPlugins, pulumi.ToStringMap(options.Plugins))
	}
}
