package talos

import (
	"errors"
	"path"
	"regexp"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/version"
)

// Release is a build of Talos, in an ISO or an installer image.
type Release struct {
	// Version with its "v", for example v1.12.4.
	Version string `json:"version"`
	// Schematic is the Image Factory's identifier of the extensions in the build, "" for the plain one.
	Schematic string `json:"schematic,omitempty"`
	// Extensions in the build.
	Extensions []Extension `json:"extensions,omitempty"`
}

// Extension is a system extension, for example siderolabs/qemu-guest-agent.
type Extension struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (r Release) clone() Release {
	r.Extensions = slices.Clone(r.Extensions)

	return r
}

// Patterns in the names of images and ISO files: a version, and a schematic's ID, which is a SHA-256.
const (
	versionPattern   = `v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`
	schematicPattern = `[0-9a-f]{64}`
)

// ReleaseFromReference reads version and schematic from the name of an installer image
// (factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4) or of an ISO volume. A name without a version means the Talos
// version of this program's library, like Talos' default installer image.
func ReleaseFromReference(ref string) (Release, error) {
	if ref == "" {
		return Release{}, errors.New("no image is named")
	}

	name := path.Base(ref)
	release := Release{
		Version:   regexp.MustCompile(versionPattern).FindString(name),
		Schematic: regexp.MustCompile(schematicPattern).FindString(ref),
	}

	if release.Version == "" {
		release.Version = version.Tag
	}

	return release, nil
}
