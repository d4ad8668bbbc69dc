package components_test

import (
	"net/url"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

// oneTemplate makes a template, changed from the fixture.
func oneTemplate(change func(*components.TalosTemplateArgs)) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args := templateFixture("vmhost")
		change(args)
		_, err := components.NewTalosTemplate(ctx, "template", args, providers)
		return err
	}
}

func TestInputsOfTemplatesAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneTemplate(func(args *components.TalosTemplateArgs) {
		args.TPM = true
		args.Pool = &components.Pool{Name: "there"}
		args.Tags = []string{"talos"}
		args.Schematic = components.Schematic{Extensions: []string{"siderolabs/qemu-guest-agent"}, KernelArgs: []string{"net.ifnames=0"}}
		args.ImageFactory = &url.URL{Scheme: "https", Host: "factory.example.org", Path: "/talos"}
	}))
	require.NoError(t, err)
	for _, resource := range []struct{ token, name string }{
		{tokenSchematic, "template-image-schematic"}, {tokenCommand, "template-iso"}, {tokenVM, "template-vm"},
	} {
		inputs, err := recorder.Inputs(r.Named(t, resource.token, resource.name))
		require.NoError(t, err)
		recorder.Golden(t, *update, "inputs/"+resource.name+".json", inputs)
	}
}

func TestF21FirmwareAndTPMAreThereAtBirth(t *testing.T) {
	t.Parallel()

	for _, tpm := range []bool{false, true} {
		r, err := run(t, false, oneTemplate(func(args *components.TalosTemplateArgs) { args.TPM = tpm }))
		require.NoError(t, err)
		machine := r.Named(t, tokenVM, "template-vm").Inputs
		require.Equal(t, "ovmf", machine["bios"].StringValue())
		require.Equal(t, "q35", machine["machine"].StringValue(), "the provider does not apply it to a clone")
		require.Equal(t, "virtio-scsi-single", machine["scsiHardware"].StringValue())
		require.Equal(t, "4m", machine["efiDisk"].ObjectValue()["type"].StringValue())
		require.Equal(t, tpm, machine.HasValue("tpmState"))
	}
}

func TestAnotherImageReplacesTheTemplateAtItsVMID(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneTemplate(func(args *components.TalosTemplateArgs) { args.TalosVersion = "v1.12.5" }))
	require.NoError(t, err)
	machine := r.Named(t, tokenVM, "template-vm")
	require.Equal(t, []string{"cdrom.fileId"}, machine.RegisterRPC.GetReplaceOnChanges())
	require.True(t, machine.RegisterRPC.GetDeleteBeforeReplace(), "the VMID cannot be there twice")
	require.Equal(t, "talos-v1.12.5-base", machine.Inputs["name"].StringValue())
	require.EqualValues(t, 9000, machine.Inputs["vmId"].NumberValue())
}

func TestTheInstallerIsForNoCloud(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		image, err := internals.UnsafeAwaitOutput(ctx.Context(), template.InstallerImage)
		if err != nil {
			return err
		}
		require.Equal(t, "factory.talos.dev/nocloud-installer/"+schematicID(t, components.Schematic{})+":v1.12.4", image.Value, "another one loses the address of the first boot (F8)")
		return nil
	})
	require.NoError(t, err)
}

func TestTemplateArgumentsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewTalosTemplate(ctx, "template", &components.TalosTemplateArgs{VMID: 99}, providers)
		require.EqualError(t, err, `talos template "template": API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token
Host: name the Proxmox VE node
VMID: 99 is not between 100 and 999999999: choose a free number in that range
TalosVersion: give the version of Talos, e.g. v1.12.4
ISOStorage: name a storage with content type iso
DiskStorage: name the storage of the template's disk
Bridge: name the bridge of Proxmox VE`)
		_, err = components.NewTalosTemplate(ctx, "template", nil, providers)
		require.EqualError(t, err, `talos template "template": args: give TalosTemplateArgs`)
		return nil
	})
	require.NoError(t, err)
}

// F19: Proxmox VE clones to another host only from a template that stands there or whose storages both hosts have.
func TestF19MachinesAreClonedFromTheirHostsTemplateOrFromASharedOne(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name      string
		templates []components.TalosTemplateArgs
		host      string
		vmid      float64
	}{
		{"the host's own", []components.TalosTemplateArgs{{Host: "vmhost", VMID: 9000}, {Host: "vmhost2", VMID: 9001}}, "vmhost2", 9001},
		{"the one that is shared", []components.TalosTemplateArgs{{Host: "vmhost", VMID: 9000, Shared: true}}, "vmhost", 9000},
		{"the host's own before one that is shared", []components.TalosTemplateArgs{{Host: "vmhost", VMID: 9000, Shared: true}, {Host: "vmhost2", VMID: 9001}}, "vmhost2", 9001},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			worker := machineFixture("worker-1", components.RoleWorker, 21)
			worker.Host = "vmhost2"
			r, err := run(t, false, clusterFrom(test.templates, machineFixture("control-1", components.RoleControlPlane, 11), worker))
			require.NoError(t, err)
			machine := r.Named(t, tokenVM, "k3s-dev-worker-1-vm").Inputs
			clone := machine["clone"].ObjectValue()
			require.Equal(t, "vmhost2", machine["nodeName"].StringValue())
			require.Equal(t, test.host, clone["nodeName"].StringValue())
			require.InDelta(t, test.vmid, clone["vmId"].NumberValue(), 0)
		})
	}
}

// clusterFrom is a cluster of machines that are cloned from templates.
func clusterFrom(templates []components.TalosTemplateArgs, machines ...components.Machine) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args := clusterFixture("k3s-dev", machines...)
		for _, given := range templates {
			template := templateFixture(given.Host)
			template.VMID, template.Shared = given.VMID, given.Shared
			made, err := components.NewTalosTemplate(ctx, "template-"+given.Host, template, providers)
			if err != nil {
				return err
			}
			args.Templates = append(args.Templates, made)
		}
		_, err := components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	}
}

func TestATemplateThatIsNilIsRefused(t *testing.T) {
	t.Parallel()

	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11))
		args.Templates = []*components.TalosTemplate{nil}
		_, err := components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		require.EqualError(t, err, `talos cluster "k3s-dev": Templates: one of them is nil: give what NewTalosTemplate has made
Templates: there is none on host vmhost: add one, or share one (F19)`)
		return nil
	})
	require.NoError(t, err)
}
