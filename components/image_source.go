package components

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// ImageSource is a file on the internet that a host downloads: the disk image of a system, the ISO of an installer, or the template of
// containers. A change of its checksum makes another one; systems that are there keep what they have.
type ImageSource struct {
	// URL of the file, http or https. Required. A change alone changes no system: the checksum says which file it is.
	URL *url.URL
	// Checksum of the file, as ALGORITHM:HEX with sha256 or sha512. Required: an image that is not pinned is another one tomorrow. A change makes
	// another template; existing systems keep what they have.
	Checksum string
	// File is the name that the file gets on the host, which Proxmox VE checks: a disk image ends with .qcow2 or .raw, regardless of the end of the
	// URL, an ISO with .iso, and the template of containers with .tar.gz, .tar.xz, .tar.zst or .tar.bz2. Required.
	File string
	// Storage that receives it: of the content type import (Proxmox VE 8.4 and later) for a disk image, of iso for an ISO, of vztmpl
	// for a template of containers. Required.
	Storage string
}

// The forms of checksums and file names.
var (
	checksumForm      = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)
	diskImageFile     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.(qcow2|raw)$`)
	isoFile           = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.iso$`)
	containerTemplate = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*\.tar\.(gz|xz|zst|bz2)$`)
)

func (s ImageSource) validate(file *regexp.Regexp, names string) error {
	return errors.Join(
		require(s.URL != nil && (s.URL.Scheme == "https" || s.URL.Scheme == "http") && s.URL.Host != "", "Source.URL", "give a URL with http or https"),
		require(checksumForm.MatchString(s.Checksum), "Source.Checksum", fmt.Sprintf("%q is no checksum: give sha256: or sha512: and the digits of the file's checksum in lower case", s.Checksum)),
		require(file.MatchString(s.File), "Source.File", fmt.Sprintf("%q is no name that Proxmox VE takes: give one that ends with %s", s.File, names)),
		require(s.Storage != "", "Source.Storage", "name the storage that receives it"),
		requireName(limits.Storage, s.Storage, "Source.Storage"),
	)
}

// environment passes the image to a Command.
func (s ImageSource) environment(api ProxmoxAPI) pulumi.StringMap {
	environment := api.environment()
	environment["EM_INFRA_IMAGE_URL"] = pulumi.String(s.URL.String())
	environment["EM_INFRA_IMAGE_CHECKSUM"] = pulumi.String(s.Checksum)
	return environment
}

// ImageTemplate is a template in Proxmox VE that machines are cloned from, with the disk image of a system.
type ImageTemplate struct {
	// Resource that makes the template.
	Resource pulumi.Resource

	host string
	vmid int
}

// ImageTemplateArgs describe a template.
type ImageTemplateArgs struct {
	// API of Proxmox VE. Required. A change looks for the template again.
	API ProxmoxAPI
	// Host is the Proxmox VE node of the template. Required. A change makes another template there.
	Host string
	// VMID of the template, 100 to 999999999. Required. A change makes another template.
	VMID int
	// Name of the template. Required. A change makes it anew.
	Name string
	// Source of the disk image. Required. A change makes the template anew; machines that were cloned from it do not change.
	Source ImageSource
	// DiskStorage holds the template's disk. Required. A change makes the template anew.
	DiskStorage string
}

// NewImageTemplate makes a template from a disk image unless it exists: the host downloads the image, and the disk of the template is
// imported from it. That takes the API alone, which the provider cannot do: its disk.fileId needs SSH (bpg/terraform-provider-proxmox
// v0.69.1, proxmoxtf/resource/vm/disk/disk.go). Deleting the resource deletes only a template that was made so. It returns an error that
// lists every invalid argument.
func NewImageTemplate(ctx *pulumi.Context, name string, args *ImageTemplateArgs, opts ...pulumi.ResourceOption) (*ImageTemplate, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("image template %q: %w", name, err)
	}
	volume := args.Source.Storage + ":import/" + args.Source.File
	made, err := local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.Sprintf("%s image template %s %d %s %s %s", Tool, args.Host, args.VMID, args.Name, args.DiskStorage, volume),
		Delete:      pulumi.Sprintf("%s image release %s %d", Tool, args.Host, args.VMID),
		Environment: args.Source.environment(args.API),
		Triggers:    pulumi.ToArray([]any{args.Host, args.VMID, args.Name, args.DiskStorage, args.Source.Checksum}),
	}, append(opts, pulumi.DeleteBeforeReplace(true))...)
	if err != nil {
		return nil, err
	}
	return &ImageTemplate{Resource: made, host: args.Host, vmid: args.VMID}, nil
}

func (args *ImageTemplateArgs) validate() error {
	if args == nil {
		return errors.New("args: give ImageTemplateArgs")
	}
	return errors.Join(
		args.API.validate(),
		require(args.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, args.Host, "Host"),
		requireVMID(args.VMID),
		require(args.Name != "", "Name", "name the template"),
		requireName(limits.Machine, args.Name, "Name"),
		require(args.DiskStorage != "", "DiskStorage", "name the storage of its disk"),
		requireName(limits.Storage, args.DiskStorage, "DiskStorage"),
		args.Source.validate(diskImageFile, ".qcow2 or .raw"),
	)
}

// ContainerTemplate is the template on a host's storage that containers are created from.
type ContainerTemplate struct {
	// Resource that makes the host download it.
	Resource pulumi.Resource
	// Volume is its ID in Proxmox VE, e.g. local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst.
	Volume string

	host string
}

// ContainerTemplateArgs describe a template of containers.
type ContainerTemplateArgs struct {
	// API of Proxmox VE. Required. A change looks for the template again.
	API ProxmoxAPI
	// Host is the Proxmox VE node that downloads it. Required. A change downloads it there.
	Host string
	// Source of the template. Required. A change downloads another one; containers that were created from the former one do not change.
	Source ImageSource
}

// NewContainerTemplate makes a host download a template of containers unless it has it. Nothing deletes the file: other containers may be
// created from it, as from any template of Proxmox VE's own list. It returns an error that lists every invalid argument.
func NewContainerTemplate(ctx *pulumi.Context, name string, args *ContainerTemplateArgs, opts ...pulumi.ResourceOption) (*ContainerTemplate, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("container template %q: %w", name, err)
	}
	volume := args.Source.Storage + ":vztmpl/" + args.Source.File
	there, err := local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.Sprintf("%s image ensure %s %s", Tool, args.Host, volume),
		Environment: args.Source.environment(args.API),
		Triggers:    pulumi.ToArray([]any{args.Host, volume, args.Source.Checksum}),
	}, append(opts, pulumi.RetainOnDelete(true))...)
	if err != nil {
		return nil, err
	}
	return &ContainerTemplate{Resource: there, Volume: volume, host: args.Host}, nil
}

func (args *ContainerTemplateArgs) validate() error {
	if args == nil {
		return errors.New("args: give ContainerTemplateArgs")
	}
	return errors.Join(
		args.API.validate(),
		require(args.Host != "", "Host", "name the Proxmox VE node"),
		requireName(limits.Host, args.Host, "Host"),
		args.Source.validate(containerTemplate, ".tar.gz, .tar.xz, .tar.zst or .tar.bz2"),
	)
}
