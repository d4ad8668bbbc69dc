package components

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/download"
	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/imagefactory"
)

// templateDiskGiB is the size of the template's blank disk. A clone's disk grows from it and cannot be smaller (F21).
const templateDiskGiB = 1

// TalosTemplate is a template in Proxmox VE that Talos nodes are cloned from: a q35 machine with a blank disk and the
// Talos ISO in its drive. Nothing but the API is needed to make it (F15).
type TalosTemplate struct {
	pulumi.ResourceState

	// InstallerImage is what Talos installs itself from on a machine of this template.
	InstallerImage pulumi.StringOutput `pulumi:"installerImage"`
	// ISO is the volume that machines of this template boot from first. Not there until PhaseProvision.
	ISO pulumi.StringOutput `pulumi:"iso"`
	// VM is the template itself, for settings that this component does not cover.
	VM *vm.VirtualMachine

	host      string
	vmid      int
	shared    bool
	scsi      SCSIController
	image     image
	schematic Schematic
}

// TalosTemplateArgs describe one template.
type TalosTemplateArgs struct {
	// Host is the Proxmox VE node that it stands on. Required. A change replaces the template.
	Host string
	// Shared lets machines on other hosts be cloned from it too. ISOStorage, DiskStorage and the DiskStorage of those machines
	// must then be storages that the hosts share: Proxmox VE clones to another host from and to no others (F19).
	// Default: false. A change touches nothing.
	Shared bool
	// VMID of the template, 100 to 999999999. Required. A change replaces the template; keep it across versions, since
	// machines that are replaced are cloned from the VMID that they were born from.
	VMID int
	// Name of the template. Default: talos-<TalosVersion>-base. A change renames it in place.
	Name string
	// TalosVersion of the image, e.g. v1.12.4. Required. A change replaces the template; its clones never notice (F3).
	TalosVersion string
	// Schematic of the image. Default: plain Talos. A change replaces the template.
	Schematic Schematic
	// ImageFactory that serves the image. Default: https://factory.talos.dev. A change replaces the ISO and the template.
	ImageFactory *url.URL
	// ISOStorage holds the ISO; it must allow the content type iso. Required. A change replaces the ISO and the template.
	ISOStorage string
	// DiskStorage holds the template's disk and its firmware's. Required. A change replaces the template.
	DiskStorage string
	// Bridge of the template's network card; a clone has its own. Required. A change is made in place.
	Bridge string
	// TPM gives the template, and so every machine that is cloned from it, a TPM 2.0, for disk encryption with keys in it.
	// Default: false. A change replaces the template; machines that are there keep what they were born with (F21).
	TPM bool
	// SCSIController of the template and of all machines that are cloned from it: the provider does not send SCSIVirtIO to a
	// clone, which keeps what its template has (bpg/terraform-provider-proxmox v0.69.1, vm.go, vmCreateClone). Default:
	// SCSIVirtIOSingle. A change is made to the template in place, and reboots its machines one after the other; they find
	// their disks again.
	SCSIController SCSIController
	// Pool of Proxmox VE that the template belongs to. Default: nil, none. A change is made in place.
	Pool *Pool
	// Tags in Proxmox VE, sorted. Default: none. A change is made in place.
	Tags []string
	// Until is the last phase to register: with PhaseGenerate the schematic alone. Default: 0, all of them. A change to an
	// earlier phase deletes what belongs to later ones.
	Until Phase
}

// NewTalosTemplate makes a template. It returns an error when an argument is missing or cannot be.
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
	document, err := a.Schematic.document()
	if err != nil {
		return fmt.Errorf("schematic: %w", err)
	}
	schematic, err := imagefactory.NewSchematic(ctx, name+"-schematic", &imagefactory.SchematicArgs{
		Schematic: pulumi.String(document),
	}, pulumi.Parent(t))
	if err != nil {
		return err
	}

	schematicID := schematic.ID().ToStringOutput()
	t.InstallerImage = t.image.of(schematicID, t.image.installer)
	if !a.Until.Reaches(PhaseProvision) {
		return nil
	}
	return t.addVM(ctx, name, a, schematicID)
}

// addVM downloads the ISO and makes the template that boots it.
func (t *TalosTemplate) addVM(ctx *pulumi.Context, name string, a TalosTemplateArgs, schematicID pulumi.StringOutput) error {
	iso, err := download.NewFile(ctx, name+"-iso", &download.FileArgs{
		NodeName:           pulumi.String(a.Host),
		DatastoreId:        pulumi.String(a.ISOStorage),
		ContentType:        pulumi.String("iso"),
		FileName:           t.image.of(schematicID, t.image.isoFile),
		Url:                t.image.of(schematicID, t.image.isoURL),
		Overwrite:          pulumi.Bool(false),
		OverwriteUnmanaged: pulumi.Bool(true),
	}, pulumi.Parent(t), keptISO())
	if err != nil {
		return err
	}

	t.ISO = iso.ID().ToStringOutput()
	t.VM, err = vm.NewVirtualMachine(ctx, name+"-vm", templateVM(a, t.ISO), pulumi.Parent(t), pulumi.DependsOn(a.Pool.makers()), templateMachine())
	return err
}

// serves says whether machines on a host can be cloned from it.
func (t *TalosTemplate) serves(host string) bool { return t.host == host || t.shared }

// complete returns a copy with defaults, or all that is wrong with it.
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
		require(a.Host != "", "Host", "name the Proxmox VE node"),
		requireVMID(a.VMID),
		require(a.TalosVersion != "", "TalosVersion", "give the version of Talos, e.g. v1.12.4"),
		require(a.ISOStorage != "", "ISOStorage", "name a storage with content type iso"),
		require(a.DiskStorage != "", "DiskStorage", "name the storage of the template's disk"),
		require(a.Bridge != "", "Bridge", "name the bridge of Proxmox VE"),
	)
}

func (args TalosTemplateArgs) summary() pulumi.Map {
	return pulumi.Map{
		"host":         pulumi.String(args.Host),
		"vmid":         pulumi.Int(args.VMID),
		"talosVersion": pulumi.String(args.TalosVersion),
	}
}
