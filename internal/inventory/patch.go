package inventory

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Patch is a strategic merge patch of the Talos machine configuration, as YAML text.
type Patch string

// UnmarshalYAML converts a mapping to text, and keeps text unchanged.
func (p *Patch) UnmarshalYAML(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.ScalarNode && node.Value == "" || node.Kind == yaml.MappingNode && len(node.Content) == 0:
		return &strictyaml.Fault{What: "is empty", Do: "write a patch or remove the item"}
	case node.Kind == yaml.MappingNode:
		text, err := blockText(node)
		*p = Patch(text)
		return err
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
		*p = Patch(node.Value)
		return nil
	}
	return &strictyaml.Fault{
		What: "is not a patch", Rule: "a mapping, or text that holds one",
		Do: "write it as a strategic merge patch, {machine: …} or {apiVersion: …, kind: …}",
	}
}

// MarshalYAML returns the mapping that the patch was read from, or its text.
func (p Patch) MarshalYAML() (any, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(p), &document); err != nil || len(document.Content) == 0 {
		return string(p), nil
	}
	if text, err := blockText(document.Content[0]); err != nil || text != string(p) {
		return string(p), err
	}
	return document.Content[0], nil
}

// blockText returns a node as text in block style.
func blockText(node *yaml.Node) (string, error) {
	unflow(node)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return "", fmt.Errorf("write patch: %w", err)
	}
	return text.String(), encoder.Close()
}

// unflow removes the braces of mappings and lists within a node.
func unflow(node *yaml.Node) {
	if len(node.Content) > 0 {
		node.Style &^= yaml.FlowStyle
	}
	for _, inner := range node.Content {
		unflow(inner)
	}
}
