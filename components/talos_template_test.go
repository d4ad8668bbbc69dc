package components_test

import (
	"net/url"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
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
		golden.Equal(t, "testdata/inputs/"+resource.name+".json", inputs)
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

	var image any
	_, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		installer, err := internals.UnsafeAwaitOutput(ctx.Context(), template.InstallerImage)
		image = installer.Value
		return err
	})
	require.NoError(t, err)
	require.Equal(t, "factory.talos.dev/nocloud-installer/"+schematicID(t, components.Schematic{})+":v1.12.4", image, "another one loses the address of the first boot (F8)")
}

func TestTemplateArgumentsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	template := func(args *components.TalosTemplateArgs) error {
		return refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
			_, err := components.NewTalosTemplate(ctx, "template", args, providers)
			return err
		})
	}
	require.EqualError(t, template(&components.TalosTemplateArgs{VMID: 99}), `talos template "template": API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token
Host: name the Proxmox VE node
VMID: 99 is not between 100 and 999999999: choose a free number in that range
TalosVersion: give the version of Talos, e.g. v1.12.4
ISOStorage: name a storage with content type iso
DiskStorage: name the storage of the template's disk
Bridge: name the bridge of Proxmox VE`)
	require.EqualError(t, template(nil), `talos template "template": args: give TalosTemplateArgs`)
	require.EqualError(t, template(&components.TalosTemplateArgs{
		API: apiFixture(), Host: "vm host", VMID: 1_000_000_000, Name: "talos base", TalosVersion: "v1.12.4", ISOStorage: "1", DiskStorage: "tank/vm",
		Bridge: "a-bridge-with-a-long-name", Tags: []string{"talos", "Not a tag"},
	}), `talos template "template": Host: "vm host" is not valid in Proxmox VE (a host's name: letters, digits and -, at most 63 characters): choose another name
VMID: 1000000000 is not between 100 and 999999999: choose a free number in that range
ISOStorage: "1" is not valid in Proxmox VE (a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit): choose another name
DiskStorage: "tank/vm" is not valid in Proxmox VE (a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit): choose another name
Bridge: "a-bridge-with-a-long-name" is not valid in Proxmox VE (a bridge's name: letters, digits, -, _ and ., at most 15 characters): choose another name
Name: "talos base" is not valid in Proxmox VE (a machine's name: labels of letters, digits and - with dots between them): choose another name
Tags[1]: "Not a tag" is not valid in Proxmox VE (a tag: lower-case letters, digits, _, -, + and ., the first a letter, digit or _): choose another name`)
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

// clusterFrom returns a cluster of machines that are cloned from templates.
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

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11))
		args.Templates = []*components.TalosTemplate{nil}
		_, err := components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	}), `talos cluster "k3s-dev": Templates: one of them is nil: give what NewTalosTemplate has made
Templates: there is none on host vmhost: add one, or share one`)
}
