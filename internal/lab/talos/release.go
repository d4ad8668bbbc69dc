package talos

import (
	"errors"
	"path"
	"regexp"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/version"
)

// Release is a build of Talos: what an ISO boots and what an installer image writes.
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

// Patterns of what names of images and ISO files carry: a version, and the SHA-256 that is a schematic's identifier.
const (
	versionPattern   = `v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?`
	schematicPattern = `[0-9a-f]{64}`
)

// ReleaseFromReference reads version and schematic out of the name of an installer image
// (factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4) or of an ISO volume. A name without version carries the Talos
// that this program is built with, as Talos' default installer image does.
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
