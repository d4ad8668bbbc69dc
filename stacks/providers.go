package stacks

import (
	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/pulumi/pulumi-command/sdk/go/command"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos"
)

// newProviders creates the providers that every component inherits. Default providers are off in Pulumi.yaml, so no resource
// can use another one.
func newProviders(ctx *pulumi.Context, s settings, protect bool) (pulumi.ResourceOption, error) {
	// With all of them protected a destroy stops before its first call; with only some it would delete the others first.
	protected := pulumi.Protect(protect)
	proxmox, commands, err := newHostConnections(ctx, s, protected)
	if err != nil {
		return nil, err
	}
	machines, err := talos.NewProvider(ctx, "talos", &talos.ProviderArgs{
		ImageFactoryUrl: pulumi.String(s.imageFactory.String()),
	}, protected)
	if err != nil {
		return nil, err
	}
	return pulumi.Providers(proxmox, machines, commands), nil
}

// newHostProviders creates the providers of a stack that configures hosts.
func newHostProviders(ctx *pulumi.Context, s settings, protect bool) (pulumi.ResourceOption, error) {
	proxmox, commands, err := newHostConnections(ctx, s, pulumi.Protect(protect))
	return pulumi.Providers(proxmox, commands), err
}

// newHostConnections creates the two ways to the host: the provider, and the Commands that do what it lacks.
func newHostConnections(ctx *pulumi.Context, s settings, protected pulumi.ResourceOption) (*proxmoxve.Provider, *command.Provider, error) {
	proxmox, err := proxmoxve.NewProvider(ctx, "proxmox", &proxmoxve.ProviderArgs{
		Endpoint: pulumi.String(s.proxmoxEndpoint),
		ApiToken: s.proxmoxToken,
		Insecure: pulumi.Bool(s.proxmoxInsecure),
	}, protected)
	if err != nil {
		return nil, nil, err
	}
	commands, err := command.NewProvider(ctx, "command", &command.ProviderArgs{}, protected)
	return proxmox, commands, err
}
