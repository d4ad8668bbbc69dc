package manifest

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// defaulted is how Effective marks a default value.
const defaulted = "default"

// EffectiveFile is a file with its defaults. Loading it gives the same inventory.
type EffectiveFile struct {
	// Name of the file, e.g. hosts.yaml.
	Name string
	// Text has each default marked.
	Text []byte
	// Defaults are the paths of the default values, in their order.
	Defaults []string
}

// Effective returns a file with its defaults. The source is the file without them.
func Effective(name string, content any, source *strictyaml.Document) (EffectiveFile, error) {
	return Annotated(name, content, source, nil)
}

// Annotated returns the same as [Effective], with a note behind values of the file, by their paths.
func Annotated(name string, content any, source *strictyaml.Document, notes map[string]string) (EffectiveFile, error) {
	file := EffectiveFile{Name: name}
	var err error
	file.Text, err = strictyaml.Encode(content, func(at *strictyaml.Path) string {
		if source.Has(at) {
			return notes[at.String()]
		}
		file.Defaults = append(file.Defaults, at.String())
		return defaulted
	})
	if err != nil {
		return file, fmt.Errorf("write %s: %w", name, err)
	}
	return file, nil
}
