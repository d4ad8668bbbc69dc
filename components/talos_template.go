package components

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// TalosTemplate is a template in Proxmox VE that Talos nodes are cloned from: a q35 machine with a blank disk and the Talos ISO
// in its drive. Its creation needs only the API (F15).
type TalosTemplate struct {
	pulumi.ResourceState

	// InstallerImage is the image that Talos is installed from on a machine of this template.
	InstallerImage pulumi.StringOutput `pulumi:"installerImage"`
	// ISO is the volume that machines of this template boot from first, e.g. local:iso/talos-….iso. Not set before PhaseProvision.
	ISO pulumi.StringOutput `pulumi:"iso"`
	// VM is the template itself, for settings that this component does not cover.
	VM *vm.VirtualMachine

	host      string
	vmid      int
	shared    bool
	scsi      SCSIController
	image     image
	schematic Schematic
	installer string // InstallerImage
}

// TalosTemplateArgs describe one template.
type TalosTemplateArgs struct {
	// API of Proxmox VE, used to look for the ISO. Required. A change looks for it again.
	API ProxmoxAPI
	// Host is the Proxmox VE node of the template. Required. A change replaces the template.
	Host string
	// Shared allows clones on other hosts. ISOStorage, DiskStorage and the DiskStorage of those machines must then be shared by
	// the hosts: Proxmox VE clones between hosts only on shared storages (F19). Default: false. A change changes nothing.
	Shared bool
	// VMID of the template, 100 to 999999999. Required. A change replaces the template and does not affect its clones.
	VMID int
	// Name of the template. Default: talos-<TalosVersion>-base. A change renames it in place.
	Name string
	// TalosVersion of the image, e.g. v1.12.4. Required. A change replaces the template and does not affect its clones (F3).
	TalosVersion string
	// Schematic of the image. Default: plain Talos. A change replaces the template.
	Schematic Schematic
	// ImageFactory that serves the image. Default: https://factory.talos.dev. A change does not affect an existing ISO, since the
	// schematic determines its content, and is applied to the nodes without a reboot.
	ImageFactory *url.URL
	// ISOStorage holds the ISO; it must allow the content type iso. Required. A change replaces the template; the old ISO stays.
	ISOStorage string
	// DiskStorage holds the template's disk and its firmware's disk. Required. A change replaces the template.
	DiskStorage string
	// Bridge of the template's network card; a clone has its own. Required. A change is made in place.
	Bridge string
	// TPM gives the template, and so every machine that is cloned from it, a TPM 2.0, for disk encryption with keys in it.
	// Default: false. A change replaces the template; existing machines do not change (F21).
	TPM bool
	// SCSIController of the template and of all machines that are cloned from it: the provider does not send SCSIVirtIO to a
	// clone, which keeps the controller of its template (bpg/terraform-provider-proxmox v0.69.1, vm.go, vmCreateClone). Default:
	// SCSIVirtIOSingle. A change is made to the template in place, and reboots its machines one after the other; they find their
	// disks again.
	SCSIController SCSIController
	// Pool of Proxmox VE that the template belongs to. Default: nil, none. A change is made in place.
	Pool *Pool
	// Storage is made before the template, and so before every machine. Default: nil, none. A change touches no machine.
	Storage *TrueNASStorage
	// Ownership is written into its description. Default: nil, none. A change is made in place.
	Ownership *Ownership
	// Tags in Proxmox VE, sorted. Default: none. A change is made in place.
	Tags []string
	// Until is the last phase to register: with PhaseGenerate the schematic alone. Default: 0, all of them. A change to an
	// earlier phase deletes what belongs to later ones.
	Until Phase
}

// NewTalosTemplate creates a template. It returns an error if an argument is missing or invalid.
func NewTalosTemplate(ctx *pulumi.Context, name string, args *TalosTemplateArgs, opts ...pulumi.ResourceOption) (*TalosTemplate, error) {
	a, err := args.complete()
	if err != nil {
		return nil, fmt.Errorf("talos template %q: %w", name, err)
	}
	t := &TalosTemplate{
		host: a.Host, vmid: a.VMID, shared: a.Shared, scsi: a.SCSIController, image: image{factory: a.ImageFactory, version: a.TalosVersion}, schematic: a.Schematic,
	}
	if err := ctx.RegisterComponentResourceV2(typeTalosTemplate, name, a.summary(), t, opts...); err != nil {
		return nil, err
	}
	if err := t.build(ctx, name, a); err != nil {
		return nil, fmt.Errorf("talos template %q: %w", name, err)
	}
	outputs := pulumi.Map{"installerImage": t.InstallerImage}
	if a.Until.Reaches(PhaseProvision) {
		outputs["iso"] = t.ISO
	}
	return t, ctx.RegisterResourceOutputs(t, outputs)
}

func (t *TalosTemplate) build(ctx *pulumi.Context, name string, a TalosTemplateArgs) error {
	schematicID, known, err := a.Schematic.register(ctx, name, t)
	if err != nil {
		return err
	}
	t.installer = t.image.installer(schematicID)
	t.InstallerImage = pulumi.String(t.installer).ToStringOutput()
	if !a.Until.Reaches(PhaseProvision) {
		return nil
	}
	return t.addVM(ctx, name, a, schematicID, known)
}

// addVM creates the template after its ISO.
func (t *TalosTemplate) addVM(ctx *pulumi.Context, name string, a TalosTemplateArgs, schematicID string, known pulumi.ResourceOption) error {
	iso := isoVolume{storage: a.ISOStorage, file: t.image.isoFile(schematicID)}
	there, err := iso.ensure(ctx, name, a, t.image.isoURL(schematicID), pulumi.Parent(t), known)
	if err != nil {
		return err
	}
	t.ISO = pulumi.String(iso.id()).ToStringOutput()
	before := append(append([]pulumi.Resource{there}, a.Pool.makers()...), a.Storage.makers()...)
	t.VM, err = vm.NewVirtualMachine(ctx, name+"-vm", templateVM(a, t.ISO), pulumi.Parent(t), pulumi.DependsOn(before), templateMachine())
	return err
}

// requireMade refuses a template that ends before the machine that is to be cloned from it. One that is nil is reported elsewhere.
func (t *TalosTemplate) requireMade(until Phase, argument string) error {
	return require(t == nil || t.VM != nil || !until.Reaches(PhaseProvision), argument,
		"its Until ends before PhaseProvision, and there is nothing to clone: give the template the Until of what is made from it")
}

// serves reports whether machines on a host can be cloned from it.
func (t *TalosTemplate) serves(host string) bool { return t.host == host || t.shared }

// complete returns a copy with defaults, or an error that lists every problem.
func (args *TalosTemplateArgs) complete() (TalosTemplateArgs, error) {
	if args == nil {
		return TalosTemplateArgs{}, errors.New("args: give TalosTemplateArgs")
	}
	a := *args
	if a.Name == "" {
		a.Name = "talos-" + a.TalosVersion + "-base"
	}
	if a.ImageFactory == nil {
		a.ImageFactory, _ = url.Parse(ImageFactory) // a constant that parses
	}
	a.SCSIController = cmp.Or(a.SCSIController, SCSIVirtIOSingle)
	return a, errors.Join(
		a.SCSIController.validate(),
		a.API.validate(),
		require(a.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, a.Host, "Host"),
		requireVMID(a.VMID),
		require(a.TalosVersion != "", "TalosVersion", "give the version of Talos, e.g. v1.12.4"),
		requireWord(a.TalosVersion, "TalosVersion"),
		requireName(limits.Storage, a.ISOStorage, "ISOStorage"),
		require(a.ISOStorage != "", "ISOStorage", "name a storage with content type iso"),
		require(a.DiskStorage != "", "DiskStorage", "name the storage of the template's disk"),
		requireName(limits.Storage, a.DiskStorage, "DiskStorage"),
		require(a.Bridge != "", "Bridge", "name the bridge of Proxmox VE"),
		requireName(limits.Bridge, a.Bridge, "Bridge"),
		requireName(limits.Machine, a.Name, "Name"),
		validateTags(a.Tags),
	)
}

func (args TalosTemplateArgs) summary() pulumi.Map {
	return pulumi.Map{
		"host":         pulumi.String(args.Host),
		"vmid":         pulumi.Int(args.VMID),
		"talosVersion": pulumi.String(args.TalosVersion),
	}
}
