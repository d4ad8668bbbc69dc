package components

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/limits"
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

// noISO is the volume of an empty drive.
const noISO = "none"

// ISO is the disc of an installer on a host's storage, for machines that are no nodes of a cluster.
type ISO struct {
	// Resource that makes the host download it.
	Resource pulumi.Resource
	// Volume is its ID in Proxmox VE, e.g. local:iso/opnsense-68efe0e5c20bd5fb.iso.
	Volume string

	host string
}

// volume returns what is in the drive of a machine.
func (i *ISO) volume() pulumi.String {
	if i == nil {
		return noISO
	}
	return pulumi.String(i.Volume)
}

// ISOArgs describe an ISO.
type ISOArgs struct {
	// API of Proxmox VE. Required. A change looks for the ISO again.
	API ProxmoxAPI
	// Host is the Proxmox VE node that downloads it. Required. A change downloads it there.
	Host string
	// Source of the ISO, .iso, or compressed: .iso.gz, .iso.bz2 or .iso.zst, which the host decompresses. Its File should contain a part of the
	// checksum, so that another ISO is another file. Required. A change downloads another one, which is changed in the drives of the machines
	// that name it.
	Source ImageSource
}

// NewISO makes a host download an ISO unless it has it. Nothing deletes the file: a machine whose drive names a deleted ISO does not start again,
// and a rollback can restore a snapshot whose drive names it (F16). It returns an error that lists every invalid argument.
func NewISO(ctx *pulumi.Context, name string, args *ISOArgs, opts ...pulumi.ResourceOption) (*ISO, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("ISO %q: %w", name, err)
	}
	volume := isoVolume{storage: args.Source.Storage, file: args.Source.File}.id()
	there, err := local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.Sprintf("%s image ensure %s %s", Tool, args.Host, volume),
		Environment: args.Source.environment(args.API),
		Triggers:    pulumi.ToArray([]any{args.Host, volume, args.Source.Checksum}),
	}, append(opts, keptISO())...)
	if err != nil {
		return nil, err
	}
	return &ISO{Resource: there, Volume: volume, host: args.Host}, nil
}

func (args *ISOArgs) validate() error {
	if args == nil {
		return errors.New("args: give ISOArgs")
	}
	return errors.Join(
		args.API.validate(),
		require(args.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, args.Host, "Host"),
		args.Source.validate(isoFile, ".iso"),
	)
}
