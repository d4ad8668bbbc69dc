package drift

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"go.yaml.in/yaml/v3"
)

// hidden replaces a value that is compared but not shown.
const hidden = "(not shown)"

// private matches the parts of a machine configuration whose values are not shown. Some may contain users' secrets that Talos does
// not redact: contents of files and manifests, environments, registry passwords. A certificate is no secret, but not readable
// either.
var private = regexp.MustCompile(`^(machine\.(files|env|pods|registries)|cluster\.(inlineManifests|extraManifestHeaders)|` +
	`ExtensionServiceConfig)\b|\.crt$`)

// Configurations compares two machine configurations, property by property. Both contain secrets, but the differences do not: if
// only a secret differs, the difference reports only that. The error quotes neither configuration.
func Configurations(node string, want, have []byte) ([]Difference, error) {
	wanted, err := readConfiguration(want)
	if err != nil {
		return nil, fmt.Errorf("the machine configuration of %s in the state %w: run up again", node, err)
	}
	running, err := readConfiguration(have)
	if err != nil {
		return nil, fmt.Errorf("the machine configuration that runs on %s %w: run up again", node, err)
	}
	var differences []Difference
	for _, path := range slices.Sorted(maps.Keys(union(wanted.values, running.values))) {
		if wanted.values[path] == running.values[path] {
			continue
		}
		difference := Difference{node, "configuration " + path, wanted.values[path], running.values[path]}
		if private.MatchString(path) {
			difference.Want, difference.Have = hidden, hidden
		}
		differences = append(differences, difference)
	}
	if len(differences) == 0 && !bytes.Equal(wanted.whole, running.whole) {
		differences = append(differences, Difference{node, "configuration", "the secrets of the state", "other secrets"})
	}
	return differences, nil
}

// configuration is a parsed machine configuration.
type configuration struct {
	values map[string]string // the leaves by their paths, without secrets
	whole  []byte            // in Talos' own format, however it was written
}

var errNoConfiguration = errors.New("cannot be read")

func readConfiguration(text []byte) (configuration, error) {
	config, err := configloader.NewFromBytes(text)
	if err != nil {
		return configuration{}, errNoConfiguration
	}
	whole, err := config.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled)) // its Bytes are the text that it was read from
	if err != nil {
		return configuration{}, errNoConfiguration
	}
	shown, err := config.RedactSecrets(hidden).Bytes()
	if err != nil {
		return configuration{}, errNoConfiguration
	}
	values, err := leaves(shown)
	return configuration{values: values, whole: whole}, err
}

// leaves returns the values of all documents by their paths. The paths in a document with a kind begin with the kind and its name.
func leaves(text []byte) (map[string]string, error) {
	values := map[string]string{}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document map[string]any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, errNoConfiguration
		}
		addLeaves(values, prefixOf(document), document)
	}
}

func prefixOf(document map[string]any) string {
	kind, isKind := document["kind"].(string)
	if !isKind {
		return ""
	}
	if name, isNamed := document["name"].(string); isNamed {
		return kind + "/" + name
	}
	return kind
}

func addLeaves(values map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			addLeaves(values, join(path, key), member)
		}
	case []any:
		for i, member := range value {
			addLeaves(values, path+"["+strconv.Itoa(i)+"]", member)
		}
	default:
		values[path] = fmt.Sprint(value)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
