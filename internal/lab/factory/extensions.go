package factory

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/siderolabs/image-factory/pkg/schematic"

	"github.com/em-infra/em-infra/internal/filematch"
)

// ExtensionsOf returns the names of the extensions in images of a schematic, as Talos lists them. store is the factory's
// folder (WithStore). It returns none for an unknown schematic.
func ExtensionsOf(store, id string) ([]string, error) {
	stored := &factory{dir: store, known: map[string]*schematic.Schematic{}}
	s, err := stored.get(id)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, extension := range s.Customization.SystemExtensions.OfficialExtensions {
		names = append(names, path.Base(extension))
	}
	return names, nil
}

// Completed returns the ID of the schematic that begins with the given text; empty if there is none or more than one.
func Completed(store, beginning string) (string, error) {
	found, err := filematch.In(store, beginning+"*.yaml")
	if err != nil || len(found) != 1 {
		return "", err
	}
	return strings.TrimSuffix(filepath.Base(found[0]), ".yaml"), nil
}
