package strictyaml

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxDepth is how deeply mappings and lists may be nested in a value that is kept as YAML.
const maxDepth = 100

// raw hands a value to a type that keeps it as YAML, checked and with its aliases written out.
func (d *decoder) raw(node *yaml.Node, at *Path, into yaml.Unmarshaler) {
	before := len(d.findings)
	written := d.expanded(node, at, 0)
	if len(d.findings) > before || written == nil {
		return
	}
	var fault *Fault
	if err := into.UnmarshalYAML(written); errors.As(err, &fault) {
		d.refuse(node, at, *fault)
	} else if err != nil {
		d.refuse(node, at, Fault{What: "is not valid", Rule: err.Error()})
	}
}

// expanded is a copy of the node without aliases, anchors and comments, nil when there is too much of it. Repeated and merge keys are refused.
func (d *decoder) expanded(node *yaml.Node, at *Path, depth int) *yaml.Node {
	node, leave := d.enter(node, at)
	defer leave()
	if node == nil {
		return nil
	}
	if depth > maxDepth {
		d.refuse(node, at, Fault{What: "is nested too deeply", Rule: fmt.Sprintf("at most %d levels", maxDepth),
			Do: "make it flatter"})
		return nil
	}
	written := &yaml.Node{Kind: node.Kind, Style: node.Style, Tag: node.Tag, Value: node.Value}
	switch node.Kind {
	case yaml.MappingNode:
		for _, pair := range d.pairs(node, at) {
			name := &yaml.Node{Kind: yaml.ScalarNode, Style: pair.name.Style, Tag: pair.name.Tag, Value: pair.key}
			written.Content = append(written.Content, name, d.expanded(pair.value, at.Key(pair.key), depth+1))
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			written.Content = append(written.Content, d.expanded(item, at.Index(i), depth+1))
		}
	}
	return written
}
