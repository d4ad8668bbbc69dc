package components

import (
	"fmt"
	"net/url"
	"path"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/image-factory/pkg/schematic"
)

// ImageFactory is where Talos images come from unless another factory is named.
const ImageFactory = "https://factory.talos.dev"

// Schematic is the customization of a Talos image. A change makes another image, which replaces the template; a node gets it
// by an upgrade.
type Schematic struct {
	// Extensions are official system extensions, e.g. siderolabs/qemu-guest-agent. Default: none.
	Extensions []string
	// KernelArgs are further arguments of the kernel. Default: none.
	KernelArgs []string
}

// document is the schematic as the Image Factory takes it, in the form from which it computes the schematic's ID.
func (s Schematic) document() (string, error) {
	document := schematic.Schematic{Customization: schematic.Customization{
		ExtraKernelArgs:  s.KernelArgs,
		SystemExtensions: schematic.SystemExtensions{OfficialExtensions: s.Extensions},
	}}
	text, err := document.Marshal()
	return string(text), err
}

// image names the artifacts of one schematic in one Talos version, all for the platform nocloud: only its installer keeps
// the address of the first boot (F8), and only its ISO reads the cloud-init drive of Proxmox VE.
type image struct {
	factory *url.URL
	version string
}

const imagePlatform = "nocloud"

// isoURL is where the host downloads the ISO from.
func (i image) isoURL(schematicID string) string {
	location := *i.factory
	location.Path = path.Join(location.Path, "/image", schematicID, i.version, imagePlatform+"-amd64.iso")
	return location.String()
}

// isoFile is the ISO's name on the host's storage. It names schematic, version and architecture, so that another image is
// another file and none is ever overwritten (F16).
func (i image) isoFile(schematicID string) string {
	const enough = 16 // hex digits of a SHA-256
	return fmt.Sprintf("talos-%s-%s-%.*s-amd64.iso", i.version, imagePlatform, enough, schematicID)
}

// installer is the image that Talos installs itself from.
func (i image) installer(schematicID string) string {
	return fmt.Sprintf("%s/%s-installer/%s:%s", i.factory.Host, imagePlatform, schematicID, i.version)
}

// of names an artifact once the schematic's ID is known.
func (i image) of(schematicID pulumi.StringOutput, artifact func(string) string) pulumi.StringOutput {
	return schematicID.ApplyT(artifact).(pulumi.StringOutput)
}
