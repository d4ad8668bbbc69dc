package components

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// TalosNode is one Talos machine on Proxmox VE: a clone of a template and the configuration applied to it. It does not wait
// until the node is a member of the cluster.
type TalosNode struct {
	pulumi.ResourceState

	// Address where the node's Talos API is reached.
	Address pulumi.StringOutput `pulumi:"address"`
	// VM is the virtual machine, for settings that this component does not cover. Not set before PhaseProvision.
	VM *vm.VirtualMachine
	// Configuration is the machine configuration as applied. Not set before PhaseBootstrap.
	Configuration *machine.ConfigurationApply

	// planned is the configuration and patches are merged over it, without the machine's own Patches.
	planned pulumi.StringInput
	patches pulumi.StringArray
	// installer is the image that Talos is installed from unless patches name another.
	installer string
}

// TalosNodeArgs describe one node.
type TalosNodeArgs struct {
	// Machine describes the machine. Required. Its fields describe the effect of a change.
	Machine Machine
	// Network that the node is attached to. Required. A change of the bridge, VLAN or MTU reboots the machine; any other change
	// concerns its configuration.
	Network NodeNetwork
	// Pool of Proxmox VE that the machine belongs to. Default: nil, none. A change is made in place.
	Pool *Pool
	// Ownership is written into the machine's description. Default: nil, no owner. A change is made in place, without a reboot.
	Ownership *Ownership
	// Template that the machine is cloned from, on the same host or shared. Required. A change does not affect an existing node
	// (F3).
	Template *TalosTemplate
	// ClientConfiguration are the credentials of the Talos API. Required, secret. A change is made in place and reaches no
	// node.
	ClientConfiguration machine.ClientConfigurationInput
	// MachineConfiguration of the node. Required, secret. A change is applied in place, with a reboot where Talos needs
	// one.
	MachineConfiguration pulumi.StringInput
	// Hooks surround updates of the machine and of its configuration. Default: none. A change changes nothing.
	Hooks *pulumi.ResourceHookBinding
	// Birth is the identifier that the machine gets if it is created in this run: a new UUID in each run. Default: empty, none; a machine that was
	// deleted on the host is then created again, but not configured. A change does nothing to an existing machine.
	Birth string
	// ConfigPatches are merged over MachineConfiguration, before the machine's own Patches. Default: none. A change is
	// applied in place, with a reboot where Talos needs one.
	ConfigPatches pulumi.StringArray
	// Until is the last phase to register: with PhaseGenerate nothing, with PhaseProvision the machine alone. Default: 0, all of
	// them. A change to an earlier phase deletes what belongs to later ones.
	Until Phase

	// after are the resources that must exist before the machine: mappings of its devices, its own image.
	after []pulumi.ResourceOption
	// formerParent is the node's parent from before it had GPUs, or no longer had any.
	formerParent pulumi.Resource
	// formerName is the node's former logical name; empty if it has not changed.
	formerName string
	// installer is the image that Talos is installed from, if it is not the template's.
	installer string
	// kubernetesVersion is changed before the configuration is applied; nil if nothing is waited for.
	kubernetesVersion pulumi.Resource
	// next gets the configuration before the machine is registered; nil if there is nothing to announce.
	next *nextConfiguration
}

// NewTalosNode creates a node. It returns an error if an argument is missing or invalid.
func NewTalosNode(ctx *pulumi.Context, name string, args *TalosNodeArgs, opts ...pulumi.ResourceOption) (*TalosNode, error) {
	a, err := args.complete()
	if err != nil {
		return nil, fmt.Errorf("talos node %q: %w", name, err)
	}
	n := &TalosNode{Address: pulumi.String(a.Machine.endpoint()).ToStringOutput(), installer: cmp.Or(a.installer, a.Template.installer)}
	if err := ctx.RegisterComponentResourceV2(typeTalosNode, name, a.summary(), n, opts...); err != nil {
		return nil, err
	}
	if err := n.build(ctx, name, a); err != nil {
		return nil, fmt.Errorf("talos node %q: %w", name, err)
	}
	return n, ctx.RegisterResourceOutputs(n, pulumi.Map{"address": n.Address})
}

func (n *TalosNode) build(ctx *pulumi.Context, name string, a TalosNodeArgs) (err error) {
	n.planned = a.MachineConfiguration
	if n.patches, err = a.ownPatches(); err != nil || !a.Until.Reaches(PhaseProvision) {
		return err
	}
	patches := a.withUserPatches(n.patches)
	if a.Until.Reaches(PhaseBootstrap) {
		a.next.announce(a.MachineConfiguration, patches)
	}
	before := append([]pulumi.Resource{a.Template.VM}, a.Pool.makers()...)
	n.VM, err = vm.NewVirtualMachine(ctx, name+"-vm", nodeVM(a.Machine, a.Network, a.Pool, a.Template, a.Ownership, a.Birth),
		pulumi.Parent(n), pulumi.DependsOn(before), pulumi.Composite(a.after...), clonedMachine(1+len(a.Machine.DataDisks)), unaskedAgent(a.Template.schematic), replacedByIdentity(a.Machine), pulumi.ResourceHooks(a.Hooks))
	if err != nil || !a.Until.Reaches(PhaseBootstrap) {
		return err
	}
	n.Configuration, err = machine.NewConfigurationApply(ctx, name+"-configuration", &machine.ConfigurationApplyArgs{
		Node:                      pulumi.String(a.Machine.endpoint()),
		Endpoint:                  pulumi.String(a.Machine.endpoint()),
		ClientConfiguration:       pulumi.ToSecret(a.ClientConfiguration).(machine.ClientConfigurationOutput),
		MachineConfigurationInput: madeFor(a.MachineConfiguration, birthOf(n.VM)),
		ConfigPatches:             patches,
		ApplyMode:                 pulumi.String("auto"),
	}, pulumi.Parent(n), replacedWith(n.VM), after(a.kubernetesVersion), pulumi.ResourceHooks(a.Hooks))
	return err
}

// complete returns a copy with defaults, or an error that lists every problem.
func (args *TalosNodeArgs) complete() (TalosNodeArgs, error) {
	if args == nil {
		return TalosNodeArgs{}, errors.New("args: give TalosNodeArgs")
	}
	a := *args
	a.Machine = a.Machine.withDefaults()
	a.Network = a.Network.withDefaults()
	return a, errors.Join(
		a.Machine.validate(),
		a.Network.validate(),
		require(a.Template != nil, "Template", "give the TalosTemplate of the machine's host"),
		require(a.Template == nil || a.Template.serves(a.Machine.Host), "Template", "it stands on another host: give the one on "+a.Machine.Host+", or share it"),
		a.Network.requireAddressesOf(a.Machine),
		a.Template.requireVolumesFor(a.Machine),
		a.Template.requireMade(a.Until, "Template"),
		require(a.ClientConfiguration != nil, "ClientConfiguration", "give that of the cluster's machine.Secrets"),
		require(a.MachineConfiguration != nil, "MachineConfiguration", "give the generated configuration"),
		require(a.Birth == "" || uuidForm.MatchString(a.Birth), "Birth", fmt.Sprintf("%q is no UUID: give a random one", a.Birth)),
	)
}

// ownPatches returns the patches of the node with its labels and taints; never nil, since a nil input would stay unknown.
func (args TalosNodeArgs) ownPatches() (pulumi.StringArray, error) {
	m := args.Machine
	all := append(pulumi.StringArray{}, args.ConfigPatches...)
	registration, err := machineconfig.Registration(m.Role == RoleControlPlane, m.Labels, m.Taints)
	if err == nil && registration != "" {
		all = append(all, pulumi.String(registration))
	}
	return all, err
}

// withUserPatches returns all patches of the node; the machine's own Patches come last and win. They are secret, since they may
// contain credentials of a registry.
func (args TalosNodeArgs) withUserPatches(patches pulumi.StringArray) pulumi.StringArrayInput {
	all := slices.Concat(patches, pulumi.ToStringArray(args.Machine.Patches))
	if len(all) == 0 {
		return nil
	}
	return pulumi.ToSecret(all).(pulumi.StringArrayOutput)
}

func (args TalosNodeArgs) summary() pulumi.Map {
	return pulumi.Map{
		"name":      pulumi.String(args.Machine.Name),
		"host":      pulumi.String(args.Machine.Host),
		"vmid":      pulumi.Int(args.Machine.VMID),
		"role":      pulumi.String(args.Machine.Role),
		"addresses": pulumi.ToStringArray(args.Machine.birth().Addresses),
	}
}
