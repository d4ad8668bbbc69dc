package lab

import (
	"path/filepath"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// schematicsDir is where the lab's factory keeps its schematics.
func schematicsDir(dir string) string { return filepath.Join(dir, "schematics") }

// briefSchematic is the beginning of an ID in the name of an ISO, as components name theirs. What is in a real one, its bytes say.
var briefSchematic = regexp.MustCompile(`-([0-9a-f]{16})-amd64\.iso$`)

// installer says what is in an image of the lab's factory: the Talos that its name says, and the extensions of the
// schematic that its name says. An extension has the version of the Talos that it was built for.
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
