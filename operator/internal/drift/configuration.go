package drift

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// hidden replaces a value that is compared but not shown.
const hidden = "(not shown)"

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
		if isHidden(path, wanted.values[path]) || isHidden(path, running.values[path]) {
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
	whole  []byte            // in Talos' own format, regardless of how it was written
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
	values, err := machineconfig.Values(shown)
	if err != nil {
		return configuration{}, errNoConfiguration
	}
	return configuration{values: values, whole: whole}, nil
}

// isHidden reports whether a value is not shown: it is a secret, or a certificate, which is not secret but not readable either.
func isHidden(path, value string) bool {
	return machineconfig.IsSecret(path, value) || strings.HasSuffix(path, ".crt")
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
