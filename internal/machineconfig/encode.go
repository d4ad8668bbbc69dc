package machineconfig

import (
	"bytes"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"go.yaml.in/yaml/v3"
)

// encode writes a partial v1alpha1 document. The type never omits some fields, although a patch does not set them; a merge
// would ignore them, but people read patches too, so empty values are dropped.
func encode(document *v1alpha1.Config) (string, error) {
	var root yaml.Node
	if err := root.Encode(document); err != nil {
		return "", err
	}
	dropEmpty(&root)

	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return "", err
	}
	return text.String(), encoder.Close()
}

// keyLabels is the mapping of labels, in which an empty value is a label without a value.
const keyLabels = "nodeLabels"

// dropEmpty removes empty members of mappings. The values false and 0 are kept.
func dropEmpty(node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			dropEmpty(child)
		}
		return
	}
	kept := node.Content[:0]
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Value != keyLabels {
			dropEmpty(value)
		}
		if !isEmpty(value) {
			kept = append(kept, key, value)
		}
	}
	node.Content = kept
}

func isEmpty(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Tag == "!!null" || node.Tag == "!!str" && node.Value == ""
	case yaml.MappingNode, yaml.SequenceNode:
		return len(node.Content) == 0
	default:
		return false
	}
}
