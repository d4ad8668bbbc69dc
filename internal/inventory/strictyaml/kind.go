package strictyaml

import "go.yaml.in/yaml/v3"

// kindName returns a kind of node in words.
func kindName(kind yaml.Kind) string {
	switch kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// mistyped returns the fault of a node of the wrong kind.
func mistyped(node *yaml.Node, want yaml.Kind) Fault {
	fault := Fault{What: "has the wrong type", Rule: "it is " + kindName(want)}
	if node.Kind == yaml.ScalarNode {
		fault.Got = node.Value
	} else {
		fault.Rule += ", not " + kindName(node.Kind)
	}
	switch want {
	case yaml.MappingNode:
		fault.Do = "write {key: value}, or one key: value to a line"
	case yaml.SequenceNode:
		fault.Do = "write [a, b], or one - in front of each item"
	default:
		fault.Do = "write one value"
	}
	return fault
}

// tagName returns a YAML type in words.
func tagName(tag string) string {
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!timestamp":
		return "a date"
	default:
		return "data of type " + tag
	}
}
