package components

import (
	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// isoVolume is an ISO on a storage of Proxmox VE. Its name contains schematic, version and architecture, so a file of that name
// is the right image, no matter who downloaded it.
type isoVolume struct{ storage, file string }

// id returns the volume's ID in Proxmox VE.
func (v isoVolume) id() string { return v.storage + ":iso/" + v.file }

// ensure makes the host download the ISO unless it exists. The provider's own resource cannot adopt a file: if it exists, the
// resource fails, or deletes the file and downloads it again, and meanwhile a machine whose drive names it cannot start
// (bpg/terraform-provider-proxmox, fwprovider/resource_download_file.go, Create). Nothing ever deletes the file: a machine
// whose CD-ROM names a deleted ISO does not start again, so it outlives the template (F16).
func (v isoVolume) ensure(ctx *pulumi.Context, name string, a TalosTemplateArgs, url string, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := a.API.environment()
	environment["EM_INFRA_ISO_URL"] = pulumi.String(url) // a URL can contain characters that are special in a shell
	opts = append(opts, keptISO())
	return local.NewCommand(ctx, name+"-iso", &local.CommandArgs{
		Create:      pulumi.String(Tool + " iso ensure " + a.Host + " " + v.id()),
		Environment: environment,
		Triggers:    pulumi.ToArray([]any{a.Host, v.id()}),
	}, opts...)
}
