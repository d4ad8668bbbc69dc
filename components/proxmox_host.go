package components

import (
	"fmt"
	"slices"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/hardware/mapping"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// ProxmoxHost is the configuration of the hosts of one Proxmox VE: what is there before anything runs on them.
type ProxmoxHost struct {
	pulumi.ResourceState

	// Pools are the resource pools, in the order of the arguments.
	Pools []*Pool
	// Networks make the networks of the hosts, in the order of the arguments.
	Networks []pulumi.Resource
	// DNS are the resolvers of hosts, in the order of the arguments.
	DNS []*proxmoxve.DNS
	// Storages define the storages, in the order of the arguments.
	Storages []pulumi.Resource
	// Mappings are the resource mappings, in the order of the arguments.
	Mappings []*mapping.Pci
	// USBMappings are the resource mappings of USB devices, in the order of the arguments.
	USBMappings []*mapping.Usb
	// Access makes the access control; nil without one.
	Access pulumi.Resource
	// Settings set what hosts always have, in the order of the arguments.
	Settings []pulumi.Resource
	// Options sets options of the cluster; nil without any.
	Options pulumi.Resource
	// Definitions are the metric servers, then the backup jobs, in the order of the arguments.
	Definitions []pulumi.Resource
	// Tokens are the tokens USER@REALM!NAME=SECRET by USER@REALM!NAME. They are secrets.
	Tokens map[string]pulumi.StringOutput
}

// ProxmoxHostArgs describe how hosts are configured.
type ProxmoxHostArgs struct {
	// API of Proxmox VE. Required. A change runs the Commands again, which first check whether there is anything to do.
	API ProxmoxAPI
	// Hosts are the names of the nodes of Proxmox VE. Required. A change touches nothing on a host that is left out.
	Hosts []string
	// Pools are the names of resource pools that are created unless they exist. Default: none. A change creates and deletes pools, but never
	// one that was there before, nor one with members.
	Pools []string
	// Networks are the networks of hosts, one for each host at most. Default: none. A change stages the interfaces of its host and reloads
	// them once.
	Networks []HostNetwork
	// DNS are the resolvers of hosts, one for each host at most. Default: none. A change is applied in place.
	DNS []HostDNS
	// Settings are the time zone, names and package repositories of hosts, one for each host at most. Default: none. A change is applied in place.
	Settings []HostSettings
	// Options are options of the whole cluster. Default: none. A change is applied in place; one that is left out, and a destroy, leave it.
	Options []HostOption
	// MetricServers get the statistics of all hosts. Default: none. A change defines and removes servers, but never one that was there before.
	MetricServers []HostMetricServer
	// BackupJobs make backups of machines. Default: none. A change defines and removes jobs, but never one that was there before.
	BackupJobs []HostBackupJob
	// Storages are made unless they exist, once the networks are there. Default: none. A change defines and removes storages, but never one
	// that was there before, nor one that machines use.
	Storages []HostStorage
	// Mappings are resource mappings of PCI devices. Default: none. A change creates, changes and deletes mappings.
	Mappings []HostMapping
	// USBMappings are resource mappings of USB devices. Default: none. A change creates, changes and deletes mappings.
	USBMappings []HostUSBMapping
	// Access is roles, groups, users and permissions. Default: none. A change is applied in place; one that would take a privilege from the token
	// of API is refused.
	Access HostAccess
	// Tokens are API tokens for other programs. Default: none. A change makes, changes and deletes tokens; a token that stays keeps its secret.
	Tokens []HostToken
}

// NewProxmoxHost configures hosts. It returns an error if an argument is missing or not valid in Proxmox VE.
func NewProxmoxHost(ctx *pulumi.Context, name string, args *ProxmoxHostArgs, opts ...pulumi.ResourceOption) (*ProxmoxHost, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("hosts %q: %w", name, err)
	}
	h := &ProxmoxHost{}
	if err := ctx.RegisterComponentResourceV2(typeProxmoxHost, name, args.summary(), h, opts...); err != nil {
		return nil, err
	}
	for _, register := range []func(*pulumi.Context, string, *ProxmoxHostArgs) error{h.addPools, h.addNetworks, h.addDNS, h.addSettings, h.addStorages, h.addMappings, h.addAccess, h.addTokens, h.addDefinitions} {
		if err := register(ctx, name, args); err != nil {
			return nil, err
		}
	}
	return h, ctx.RegisterResourceOutputs(h, pulumi.Map{})
}

// addPools adds each pool after those that it is nested in: Proxmox VE makes none without its parent, and deletes none that another one is in
// (pve-manager, PVE/API2/Pool.pm).
func (h *ProxmoxHost) addPools(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	made := map[string]*Pool{}
	for _, pool := range slices.SortedStableFunc(slices.Values(args.Pools), func(a, b string) int { return len(pve.PoolParents(a)) - len(pve.PoolParents(b)) }) {
		var parents []pulumi.Resource
		for _, parent := range pve.PoolParents(pool) {
			if known := made[parent]; known != nil {
				parents = append(parents, known.Resource)
			}
		}
		one, err := NewPool(ctx, name+"-pool-"+pool, &PoolArgs{Name: pool, API: args.API, Owner: name}, pulumi.Parent(h), pulumi.DependsOn(parents))
		if err != nil {
			return err
		}
		made[pool] = one
	}
	for _, pool := range args.Pools {
		h.Pools = append(h.Pools, made[pool])
	}
	return nil
}

func (h *ProxmoxHost) addNetworks(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	for _, network := range args.Networks {
		made, err := newHostNetwork(ctx, HostNetworkName(name, network.Host), name, network, args.API, pulumi.Parent(h), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return err
		}
		h.Networks = append(h.Networks, made)
	}
	return nil
}

// addDNS adds the resolvers after the networks, by which their servers may be reached.
func (h *ProxmoxHost) addDNS(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	for _, dns := range args.DNS {
		set, err := newHostDNS(ctx, HostDNSName(name, dns.Host), dns, pulumi.Parent(h), pulumi.DependsOn(h.Networks))
		if err != nil {
			return err
		}
		h.DNS = append(h.DNS, set)
	}
	return nil
}

// addSettings adds the settings of hosts and the options of the cluster.
func (h *ProxmoxHost) addSettings(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) (err error) {
	for _, settings := range args.Settings {
		set, err := newHostSettings(ctx, HostSettingsName(name, settings.Host), settings, args.API, pulumi.Parent(h))
		if err != nil {
			return err
		}
		h.Settings = append(h.Settings, set)
	}
	if len(args.Options) > 0 {
		h.Options, err = newHostOptions(ctx, HostOptionsName(name), args.Options, args.API, pulumi.Parent(h))
	}
	return err
}

// addDefinitions adds metric servers after the networks, by which the hosts reach them, and backup jobs after pools and storages.
func (h *ProxmoxHost) addDefinitions(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	add := func(wanted hostspec.Definition, secret pulumi.StringInput, after []pulumi.Resource) error {
		made, err := newHostDefinition(ctx, HostDefinitionName(name, wanted), wanted, secret, args.API,
			pulumi.Parent(h), pulumi.DependsOn(after), pulumi.DeleteBeforeReplace(true))
		h.Definitions = append(h.Definitions, made)
		return err
	}
	for _, server := range args.MetricServers {
		if err := add(server.Spec(), server.Token, h.Networks); err != nil {
			return err
		}
	}
	after := slices.Clone(h.Storages)
	for _, pool := range h.Pools {
		after = append(after, pool.Resource)
	}
	for _, job := range args.BackupJobs {
		if err := add(job.Spec(), nil, after); err != nil {
			return err
		}
	}
	return nil
}

// addStorages adds the storages after the networks, by whose addresses the hosts may reach a server.
func (h *ProxmoxHost) addStorages(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	for _, storage := range args.Storages {
		made, err := newHostStorage(ctx, HostStorageName(name, storage.Name), storage, args.API,
			pulumi.Parent(h), pulumi.DependsOn(h.Networks), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return err
		}
		h.Storages = append(h.Storages, made)
	}
	return nil
}

func (h *ProxmoxHost) addMappings(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	for _, wanted := range args.Mappings {
		made, err := newHostMapping(ctx, HostMappingName(name, wanted.Name), wanted, pulumi.Parent(h), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return err
		}
		h.Mappings = append(h.Mappings, made)
	}
	for _, wanted := range args.USBMappings {
		made, err := newHostUSBMapping(ctx, HostUSBMappingName(name, wanted.Name), wanted, pulumi.Parent(h), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return err
		}
		h.USBMappings = append(h.USBMappings, made)
	}
	return nil
}

func (h *ProxmoxHost) addAccess(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) (err error) {
	if args.Access.Spec().IsEmpty() {
		return nil
	}
	h.Access, err = newHostAccess(ctx, HostAccessName(name), args.Access, args.API, pulumi.Parent(h))
	return err
}

// addTokens adds the tokens after the users that they belong to.
func (h *ProxmoxHost) addTokens(ctx *pulumi.Context, name string, args *ProxmoxHostArgs) error {
	opts := []pulumi.ResourceOption{pulumi.Parent(h)}
	if h.Access != nil {
		opts = append(opts, pulumi.DependsOn([]pulumi.Resource{h.Access}))
	}
	h.Tokens = map[string]pulumi.StringOutput{}
	for _, token := range args.Tokens {
		made, err := newHostToken(ctx, HostTokenName(name, token), name, token, args.API, opts...)
		if err != nil {
			return err
		}
		h.Tokens[token.ID()] = pulumi.ToSecret(made.Stdout).(pulumi.StringOutput)
	}
	return nil
}

// summary is what a preview shows of the component.
func (args ProxmoxHostArgs) summary() pulumi.Map {
	return pulumi.Map{"hosts": pulumi.ToStringArray(args.Hosts)}
}
