package components

import (
	"fmt"
	"net/url"
	"path"
	"slices"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// ImageFactory is the default Image Factory.
const ImageFactory = "https://factory.talos.dev"

// image names the artifacts of schematics in one Talos version, all for the platform nocloud: only its installer keeps the
// address of the first boot (F8), the guest agent fails with that for bare metal (F9), and only its ISO reads the cloud-init drive of Proxmox VE.
type image struct {
	factory *url.URL
	version string
}

const imagePlatform = "nocloud"

// isoURL returns where the host downloads the ISO from.
func (i image) isoURL(schematicID string) string {
	location := *i.factory
	location.Path = path.Join(location.Path, "/image", schematicID, i.version, imagePlatform+"-amd64.iso")
	return location.String()
}

// isoFile returns the name of the ISO on the host's storage. It contains schematic, version and architecture, so another image
// is another file and no file is ever overwritten (F16).
func (i image) isoFile(schematicID string) string {
	const enough = 16 // hex digits of a SHA-256
	return fmt.Sprintf("talos-%s-%s-%.*s-amd64.iso", i.version, imagePlatform, enough, schematicID)
}

// installer returns the reference of the image that Talos is installed from.
func (i image) installer(schematicID string) string {
	return Installer(i.factory, i.version, schematicID)
}

// Installer returns the reference of the image that Talos is installed from, for the ID of its schematic.
func Installer(factory *url.URL, talosVersion, schematicID string) string {
	return fmt.Sprintf("%s/%s-installer/%s:%s", factory.Host, imagePlatform, schematicID, talosVersion)
}

// PatchedInstaller returns the image that patches of the cluster or of a machine name in the place of the schematic's; empty if none
// does. A machine with GPUs gets its own image after the cluster's patches, so that only its own ones count.
func PatchedInstaller(ofCluster []string, m Machine) (string, error) {
	patches := m.Patches
	if len(m.GPUs) == 0 {
		patches = slices.Concat(ofCluster, m.Patches)
	}
	return machineconfig.InstallerIn(patches)
}
