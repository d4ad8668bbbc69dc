package lab

import (
	"path/filepath"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// schematicsDir returns the folder of the factory's schematics.
func schematicsDir(dir string) string { return filepath.Join(dir, "schematics") }

// briefSchematic matches the beginning of a schematic's ID in the name of an ISO, as the components package names it. A real
// ISO holds the ID in its bytes.
var briefSchematic = regexp.MustCompile(`-([0-9a-f]{16})-amd64\.iso$`)

// installer returns a function that describes an image of the lab's factory: the Talos version and the extensions of the
// schematic, both by its name. An extension has the version of its Talos.
func installer(schematics string) func(reference string) (talos.Release, error) {
	return func(reference string) (talos.Release, error) {
		release, err := talos.ReleaseFromReference(reference)
		if brief := briefSchematic.FindStringSubmatch(reference); err == nil && brief != nil {
			release.Schematic, err = factory.Completed(schematics, brief[1])
		}
		if err != nil || release.Schematic == "" {
			return release, err
		}
		names, err := factory.ExtensionsOf(schematics, release.Schematic)
		for _, name := range names {
			release.Extensions = append(release.Extensions, talos.Extension{Name: name, Version: release.Version})
		}
		return release, err
	}
}
