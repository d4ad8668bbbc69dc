package strictyaml

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxDepth limits the nesting of mappings and lists in a value that is kept as YAML.
const maxDepth = 100

// raw passes a value to a type that keeps it as YAML, checked and with its aliases resolved.
func (d *decoder) raw(node *yaml.Node, at *Path, into yaml.Unmarshaler) {
	before := len(d.findings)
	copying := &copying{decoder: d}
	written := copying.node(node, at, 0)
	if copying.tooDeep {
		d.refuse(node, at, Fault{
			What: "is nested too deeply", Rule: fmt.Sprintf("at most %d levels", maxDepth),
			Do: "make it flatter",
		})
	}
	if len(d.findings) > before || d.borrowed > maxBorrowed {
		return
	}
	var fault *Fault
	if err := into.UnmarshalYAML(written); errors.As(err, &fault) {
		d.refuse(node, at, *fault)
	} else if err != nil {
		d.refuse(node, at, Fault{What: "is not valid", Rule: err.Error(), Do: "choose another value"})
	}
}

// copying makes a copy without aliases, anchors and comments. Repeated and merge keys are refused.
type copying struct {
	decoder *decoder
	tooDeep bool
}

// node copies a value; the copy is nil if the value is too large.
func (c *copying) node(node *yaml.Node, at *Path, depth int) *yaml.Node {
	node, leave := c.decoder.enter(node, at)
	defer leave()
	c.tooDeep = c.tooDeep || depth > maxDepth
	if node == nil || c.tooDeep {
		return nil
	}
	written := &yaml.Node{Kind: node.Kind, Style: node.Style, Tag: node.Tag, Value: node.Value}
	switch node.Kind {
	case yaml.MappingNode:
		for _, pair := range c.decoder.pairs(node, at) {
			name := &yaml.Node{Kind: yaml.ScalarNode, Style: pair.name.Style, Tag: pair.name.Tag, Value: pair.key}
			written.Content = append(written.Content, name, c.node(pair.value, at.Key(pair.key), depth+1))
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			written.Content = append(written.Content, c.node(item, at.Index(i), depth+1))
		}
	}
	return written
}
