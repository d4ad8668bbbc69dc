package strictyaml

import (
	"bytes"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Encode writes a struct as the YAML document that Decode reads back to the same value. Keys without a value are omitted; the
// result of remark for the path of a value or of a list of values is appended to it as a comment.
func Encode(value any, remark func(*Path) string) ([]byte, error) {
	source := reflect.ValueOf(value)
	decoder := &decoder{shapes: map[reflect.Type]*shape{}}
	if err := decoder.read(source.Type()); err != nil {
		return nil, err
	}
	encoder := &encoder{shapes: decoder.shapes, remark: remark}
	root, err := encoder.structure(source, nil)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	writer := yaml.NewEncoder(&text)
	writer.SetIndent(2)
	if err := writer.Encode(root); err != nil {
		return nil, err
	}
	return text.Bytes(), writer.Close()
}

type encoder struct {
	shapes map[reflect.Type]*shape
	remark func(*Path) string
}

// structure encodes a struct as a mapping in the order of its fields.
func (e *encoder) structure(source reflect.Value, at *Path) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range e.shapes[source.Type()].fields {
		value := source.FieldByIndex(f.index)
		if value.IsZero() && !f.Required && value.Kind() != reflect.Bool {
			continue
		}
		node, err := e.node(value, at.Key(f.Key))
		if err != nil {
			return nil, err
		}
		// A list and an optional mapping have a meaning even if they are empty.
		if node.Kind == yaml.ScalarNode || len(node.Content) > 0 || value.Kind() == reflect.Slice || value.Kind() == reflect.Pointer {
			e.put(mapping, at, f.Key, node)
		}
	}
	return mapping, nil
}

// put adds a key to a mapping, with the remark about its value.
func (e *encoder) put(mapping *yaml.Node, at *Path, key string, node *yaml.Node) {
	name := &yaml.Node{}
	name.SetString(key)
	if node.Kind == yaml.ScalarNode || node.Style&yaml.FlowStyle != 0 {
		node.LineComment = e.remark(at.Key(key))
	}
	mapping.Content = append(mapping.Content, name, node)
}

func (e *encoder) node(source reflect.Value, at *Path) (*yaml.Node, error) {
	switch value := source.Interface().(type) {
	case yaml.Marshaler:
		return marshaled(value)
	case encoding.TextMarshaler:
		text, err := value.MarshalText()
		node := &yaml.Node{}
		node.SetString(string(text))
		return node, err
	}
	switch source.Kind() {
	case reflect.Pointer:
		return e.node(source.Elem(), at)
	case reflect.Struct:
		return e.structure(source, at)
	case reflect.Map:
		return e.table(source, at)
	case reflect.Slice:
		return e.list(source, at)
	case reflect.Int:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatInt(source.Int(), 10)}, nil
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(source.Bool())}, nil
	case reflect.String:
		node := &yaml.Node{}
		node.SetString(source.String())
		return node, nil
	default:
		return nil, fmt.Errorf("encode %s: no YAML for %s", at, source.Type())
	}
}

// marshaled returns the result of a type's own MarshalYAML.
func marshaled(value yaml.Marshaler) (*yaml.Node, error) {
	made, err := value.MarshalYAML()
	if err != nil {
		return nil, err
	}
	if node, ok := made.(*yaml.Node); ok {
		return node, nil
	}
	node := &yaml.Node{}
	return node, node.Encode(made)
}

func (e *encoder) table(source reflect.Value, at *Path) (*yaml.Node, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	keys := map[string]reflect.Value{}
	for _, key := range source.MapKeys() {
		keys[key.String()] = source.MapIndex(key)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		node, err := e.node(keys[key], at.Key(key))
		if err != nil {
			return nil, err
		}
		e.put(mapping, at, key, node)
	}
	return mapping, nil
}

// list encodes a list, on one line if its items are scalars.
func (e *encoder) list(source reflect.Value, at *Path) (*yaml.Node, error) {
	sequence := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for i := range source.Len() {
		node, err := e.node(source.Index(i), at.Index(i))
		if err != nil {
			return nil, err
		}
		if node.Kind != yaml.ScalarNode || node.Style&yaml.LiteralStyle != 0 {
			sequence.Style = 0
		}
		sequence.Content = append(sequence.Content, node)
	}
	return sequence, nil
}
