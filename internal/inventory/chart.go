package inventory

import (
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ChartVersion is the exact version of a Helm chart. Some charts write it with a leading v, so it is kept unchanged. The zero
// ChartVersion means none.
type ChartVersion struct{ text string }

// String returns the version as it is written in the inventory.
func (v ChartVersion) String() string { return v.text }

// IsZero reports whether there is no version.
func (v ChartVersion) IsZero() bool { return v.text == "" }

// MarshalText implements [encoding.TextMarshaler].
func (v ChartVersion) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// UnmarshalText reads 1.2.3 or v1.2.3. It refuses a range: the installed version would depend on the day.
func (v *ChartVersion) UnmarshalText(text []byte) error {
	if _, err := semver.Parse(strings.TrimPrefix(string(text), "v")); err != nil {
		return &strictyaml.Fault{What: "is not the version of a chart", Rule: "MAJOR.MINOR.PATCH, no range", Do: "write one like 2.18.3"}
	}
	v.text = string(text)
	return nil
}

// Values are the values of a Helm chart, as YAML text. Empty Values mean none.
type Values string

// Map returns the values as data: mappings with string keys, lists, strings, numbers and booleans.
func (v Values) Map() (map[string]any, error) {
	values := map[string]any{}
	if v == "" {
		return values, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(v), &document); err != nil {
		return nil, err
	}
	if err := plain(document.Content[0]); err != nil {
		return nil, err
	}
	err := document.Decode(&values)
	return values, err
}

// plain converts dates to text, as Helm does, and refuses values that would not reach the chart unchanged.
func plain(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		for at := 0; at < len(node.Content); at += 2 {
			if name := node.Content[at]; name.ShortTag() != "!!str" {
				return &strictyaml.Fault{What: "has a key that is no text", Rule: "charts have none", Got: name.Value, Do: "put it in quotes"}
			}
		}
	}
	switch node.ShortTag() {
	case "!!timestamp":
		node.Tag = "!!str"
	case "!!null":
		return &strictyaml.Fault{What: "has a null", Rule: "the engine drops it before Helm sees it", Do: "give a value or remove the key"}
	}
	for _, inner := range node.Content {
		if err := plain(inner); err != nil {
			return err
		}
	}
	return nil
}

// UnmarshalYAML keeps a mapping as its text.
func (v *Values) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return &strictyaml.Fault{What: "are no values of a chart", Rule: "a mapping", Do: "write {key: value}, or one key: value to a line"}
	}
	if len(node.Content) == 0 {
		return &strictyaml.Fault{What: "is empty", Do: "give values or remove the key"}
	}
	text, err := blockText(node)
	if err != nil {
		return err
	}
	*v = Values(text)
	_, err = v.Map()
	return err
}

// MarshalYAML returns the mapping that the values were read from.
func (v Values) MarshalYAML() (any, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(v), &document); err != nil {
		return nil, fmt.Errorf("write values: %w", err)
	}
	return document.Content[0], nil
}
