package components

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/ct"
	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// Container is an unprivileged container of Proxmox VE (LXC).
type Container struct {
	pulumi.ResourceState

	// CT is the container itself, for settings that this component does not cover.
	CT *ct.Container
}

// ContainerArgs describe a container.
type ContainerArgs struct {
	System

	// API of Proxmox VE, to grow the root. Required. A change looks at the size again.
	API ProxmoxAPI
	// Template that it is created from, on its host. Required. A change changes nothing: a container keeps its system.
	Template *ContainerTemplate
	// OSType is how Proxmox VE writes network and DNS into the container: debian, ubuntu, alpine and others. Required. A change reboots it.
	OSType string
	// SwapMiB is its swap in MiB. Default: 0, none. A change reboots it.
	SwapMiB int
	// Password of root. Default: nil, none. Secret. Written once: a change is ignored.
	Password pulumi.StringInput
	// Nesting gives the container its own view of /proc and /sys, which systemd needs. It is the only feature that a token may set
	// (pve-container, LXC.pm, check_ct_modify_config_perm). Default: false. A change to true takes effect with its next start; the
	// provider never switches it off.
	Nesting bool
	// Pool of Proxmox VE that it belongs to. Default: nil, none. A change replaces the container.
	Pool *Pool
}

// OSTypes are the types of systems that Proxmox VE 8.4 and 9.1 know (pve-container, LXC/Config.pm).
var OSTypes = []string{
	"alpine", "archlinux", "centos", "debian", "devuan", "fedora", "gentoo", "nixos", "opensuse", "ubuntu", "unmanaged",
}

// birthGiB is the size of a root when its container is created. The provider would replace a container for another size (bpg v0.69.1,
// container.go, disk is ForceNew), so the root always begins with this one and is grown afterwards, while the container runs.
const birthGiB = 4

// NewContainer creates a container, and grows its root to the size that it shall have. It returns an error that lists every invalid argument.
func NewContainer(ctx *pulumi.Context, name string, args *ContainerArgs, opts ...pulumi.ResourceOption) (*Container, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("container %q: %w", name, err)
	}
	c := &Container{}
	inputs := pulumi.Map{"host": pulumi.String(args.Host), "vmid": pulumi.Int(args.VMID)}
	if err := ctx.RegisterComponentResourceV2(typeContainer, name, inputs, c, append(opts, protectedSystem(args.Protect))...); err != nil {
		return nil, err
	}
	before := append([]pulumi.Resource{args.Template.Resource}, args.Pool.makers()...)
	var err error
	c.CT, err = ct.NewContainer(ctx, name+"-ct", containerArgs(ctx.Stack(), args), pulumi.Parent(c), pulumi.DependsOn(before), createdContainer())
	if err != nil {
		return nil, err
	}
	if err := c.growRoot(ctx, name, args); err != nil {
		return nil, err
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"vmid": pulumi.Int(args.VMID)})
}

// growRoot grows the root, at once and with each change of its size. A new container begins with a small root again.
func (c *Container) growRoot(ctx *pulumi.Context, name string, args *ContainerArgs) error {
	grow := pulumi.Sprintf("%s container grow %s %d %d", Tool, args.Host, args.VMID, args.DiskGiB)
	_, err := local.NewCommand(ctx, name+"-root", &local.CommandArgs{
		Create: grow, Update: grow, Environment: args.API.environment(),
	}, pulumi.Parent(c), pulumi.DependsOn([]pulumi.Resource{c.CT}), pulumi.ReplaceWith([]pulumi.Resource{c.CT}), pulumi.DeletedWith(c.CT))
	return err
}

// createdContainer: a container keeps the template that it was created from, and its user, which the provider cannot change. The size of its
// root belongs to the Command that grows it. A VMID and an address cannot exist twice, so a replacement deletes the old container first.
func createdContainer() pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges([]string{"operatingSystem.templateFileId", "initialization.userAccount", "disk.size"}),
		pulumi.DeleteBeforeReplace(true),
	)
}

func containerArgs(stack string, a *ContainerArgs) *ct.ContainerArgs {
	args := &ct.ContainerArgs{
		NodeName:          pulumi.String(a.Host),
		VmId:              pulumi.Int(a.VMID),
		Description:       pulumi.String(ownership.SystemMark(stack) + "\n"), // Proxmox VE ends it with a line feed
		Unprivileged:      pulumi.Bool(true),
		Started:           pulumi.Bool(true),
		StartOnBoot:       pulumi.Bool(!a.OffAtBoot),
		Protection:        pulumi.Bool(a.Protect),
		Cpu:               ct.ContainerCpuArgs{Architecture: pulumi.String("amd64"), Cores: pulumi.Int(a.Cores), Units: pulumi.Int(usualUnits)},
		Memory:            ct.ContainerMemoryArgs{Dedicated: pulumi.Int(a.MemoryMiB), Swap: pulumi.Int(a.SwapMiB)},
		Disk:              ct.ContainerDiskArgs{DatastoreId: pulumi.String(a.DiskStorage), Size: pulumi.Int(birthGiB)},
		Initialization:    containerInitialization(a),
		NetworkInterfaces: containerNICs(a.NICs),
		OperatingSystem:   ct.ContainerOperatingSystemArgs{TemplateFileId: pulumi.String(a.Template.Volume), Type: pulumi.String(a.OSType)},
		PoolId:            optional(a.Pool.name()),
		Tags:              pulumi.ToStringArray(a.Tags),
	}
	if a.Nesting {
		args.Features = ct.ContainerFeaturesArgs{Nesting: pulumi.Bool(true)}
	}
	if a.Startup != nil {
		order, up, down := startupOf(a.Startup)
		args.Startup = ct.ContainerStartupArgs{Order: pulumi.Int(order), UpDelay: pulumi.Int(up), DownDelay: pulumi.Int(down)}
	}
	return args
}

// usualUnits is the provider's default of the CPU weight, given so that no release of it can mean another.
const usualUnits = 1024

func containerInitialization(a *ContainerArgs) ct.ContainerInitializationArgs {
	var addresses ct.ContainerInitializationIpConfigArray
	for _, card := range a.NICs {
		address, gateway := card.address()
		config := ct.ContainerInitializationIpConfigArgs{}
		if card.isIPv6() {
			config.Ipv6 = ct.ContainerInitializationIpConfigIpv6Args{Address: pulumi.String(address), Gateway: optional(gateway)}
		} else {
			config.Ipv4 = ct.ContainerInitializationIpConfigIpv4Args{Address: pulumi.String(address), Gateway: optional(gateway)}
		}
		addresses = append(addresses, config)
	}
	args := ct.ContainerInitializationArgs{Hostname: pulumi.String(a.Name), IpConfigs: addresses}
	if len(a.Nameservers) > 0 || a.SearchDomain != "" {
		servers := make(pulumi.StringArray, len(a.Nameservers))
		for i, server := range a.Nameservers {
			servers[i] = pulumi.String(server.String())
		}
		args.Dns = ct.ContainerInitializationDnsArgs{Servers: servers, Domain: optional(a.SearchDomain)}
	}
	if a.Password != nil || len(a.Keys) > 0 {
		account := ct.ContainerInitializationUserAccountArgs{Keys: pulumi.ToStringArray(trimmed(a.Keys))}
		if a.Password != nil {
			account.Password = pulumi.ToSecret(a.Password).(pulumi.StringOutput)
		}
		args.UserAccount = account
	}
	return args
}

func containerNICs(cards []SystemNIC) ct.ContainerNetworkInterfaceArray {
	var array ct.ContainerNetworkInterfaceArray
	for i, card := range cards {
		array = append(array, ct.ContainerNetworkInterfaceArgs{
			Name:       pulumi.Sprintf("eth%d", i),
			Bridge:     pulumi.String(card.Bridge),
			VlanId:     pulumi.Int(card.VLAN),
			MacAddress: pulumi.String(strings.ToUpper(card.MAC.String())),
			Enabled:    pulumi.Bool(true),
			Firewall:   pulumi.Bool(false),
		})
	}
	return array
}

func (args *ContainerArgs) validate() error {
	if args == nil {
		return errors.New("args: give ContainerArgs")
	}
	return errors.Join(
		args.System.validate(limits.ContainerCores, limits.ContainerNICs),
		args.API.validate(),
		require(args.DiskGiB >= birthGiB, "DiskGiB", fmt.Sprintf("%d is smaller than the root of a new container: give at least %d", args.DiskGiB, birthGiB)),
		require(args.Template != nil, "Template", "give the template that it is created from"),
		require(args.Template == nil || args.Template.host == args.Host, "Template", "is on another host: download one to the container's own"),
		require(slices.Contains(OSTypes, args.OSType), "OSType", fmt.Sprintf("%q is unknown: use one of %s", args.OSType, strings.Join(OSTypes, ", "))),
		requireWithin(limits.SwapMiB, args.SwapMiB, "SwapMiB", "give the swap in MiB, 0 for none"),
	)
}
