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
	"go.yaml.in/yaml/v3"
)

// hidden stands for a value that is compared and not shown.
const hidden = "(not shown)"

// private are the parts of a machine configuration of which no value is shown. Users keep secrets in some that Talos does
// not know as such, and so does not redact: contents of files and manifests, environments, passwords of registries. A
// certificate is no secret, but nothing to read either.
var private = regexp.MustCompile(`^(machine\.(files|env|pods|registries)|cluster\.(inlineManifests|extraManifestHeaders)|` +
	`ExtensionServiceConfig)\b|\.crt$`)

// Configurations compares two machine configurations, property by property. Both hold secrets, which the differences do not:
// of two that differ only in a secret it says no more than that. The error quotes nothing of either.
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

// configuration is a machine configuration taken apart.
type configuration struct {
	values map[string]string // the leaves by their path, without secrets
	whole  []byte            // in Talos' own form
}

var errNoConfiguration = errors.New("cannot be read")

func readConfiguration(text []byte) (configuration, error) {
	config, err := configloader.NewFromBytes(text)
	if err != nil {
		return configuration{}, errNoConfiguration
	}
	whole, err := config.Bytes()
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

// leaves are the values of all documents by their path; a document of its own kind begins with that kind and its name.
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
