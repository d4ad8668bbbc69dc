package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// shape is what the struct tags say about the keys of a mapping.
type shape struct {
	fields []field
	keys   []string // sorted, for messages
}

// field is one key of a mapping.
type field struct {
	key      string
	index    []int
	required bool
	fallback *yaml.Node // of the default tag, nil without
	limits   limits
}

// limits of a value.
type limits struct {
	min, max *int // of a whole number, or of the number of members; nil is none
	empty    bool // text may be empty
}

// shapeOf reads the tags of a struct. Its errors are mistakes in the tags, so of the program.
func shapeOf(t reflect.Type) (*shape, error) {
	s := &shape{}
	if err := s.add(t, nil); err != nil {
		return nil, fmt.Errorf("tags of %s: %w", t, err)
	}
	for _, f := range s.fields {
		s.keys = append(s.keys, f.key)
	}
	slices.Sort(s.keys)
	return s, nil
}

func (s *shape) add(t reflect.Type, prefix []int) error {
	for i := range t.NumField() {
		structField := t.Field(i)
		name, options, _ := strings.Cut(structField.Tag.Get("yaml"), ",")
		index := append(slices.Clone(prefix), i)
		switch {
		case options == "inline":
			if err := s.add(structField.Type, index); err != nil {
				return err
			}
		case name != "" && name != "-":
			f, err := fieldOf(structField, name, index)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.fields = append(s.fields, f)
		}
	}
	return nil
}

func fieldOf(structField reflect.StructField, name string, index []int) (field, error) {
	f := field{key: name, index: index, required: structField.Tag.Get("required") == "true"}
	var err error
	if f.limits.min, err = bound(structField.Tag.Get("min")); err != nil {
		return field{}, err
	}
	if f.limits.max, err = bound(structField.Tag.Get("max")); err != nil {
		return field{}, err
	}
	if text, ok := structField.Tag.Lookup("default"); ok {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			return field{}, err
		}
		f.fallback = document.Content[0]
	}
	return f, nil
}

func bound(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	value, err := strconv.Atoi(text)
	return &value, err
}

// find is the field of a key.
func (s *shape) find(key string) (field, bool) {
	for _, f := range s.fields {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}
