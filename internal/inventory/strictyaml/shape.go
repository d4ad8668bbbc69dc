package strictyaml

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Field is one key of a mapping, from the tags of a struct.
type Field struct {
	// Key in the document.
	Key string
	// Type of the value.
	Type reflect.Type
	// Owner is the struct that declares the field, and Name its name there.
	Owner reflect.Type
	Name  string
	// Required reports whether the key must be there.
	Required bool
	// Remedy is what to do if a required key is missing; empty for the standard remedy.
	Remedy string
	// Default is the value of a missing key; nil without a default.
	Default *yaml.Node
	// Min and Max bound a whole number, or the number of members; nil is no bound.
	Min, Max *int

	index []int
}

// Number are the bounds and default of a whole number, or of a number of members, if a tag cannot contain them because they are
// constants of another package. 0 means none.
type Number struct{ Min, Max, Default int }

// numbered is a struct with such numbers, by their keys.
type numbered interface{ Numbers() map[string]Number }

// Fields returns the keys of a mapping that is read into a struct of the type, in the order of the struct. An error is a
// mistake in the tags.
func Fields(t reflect.Type) ([]Field, error) {
	fields, err := fieldsOf(t, nil)
	if err != nil {
		return nil, fmt.Errorf("tags of %s: %w", t, err)
	}
	return fields, nil
}

func fieldsOf(t reflect.Type, prefix []int) ([]Field, error) {
	var fields []Field
	for i := range t.NumField() {
		declared := t.Field(i)
		name, options, _ := strings.Cut(declared.Tag.Get("yaml"), ",")
		index := append(slices.Clone(prefix), i)
		if options == "inline" {
			inner, err := fieldsOf(declared.Type, index)
			if err != nil {
				return nil, err
			}
			fields = append(fields, inner...)
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("%s has no key", declared.Name)
		}
		f := Field{Key: name, Type: declared.Type, Owner: t, Name: declared.Name, index: index}
		if err := f.readTags(declared.Tag); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		fields = append(fields, f)
	}
	return fields, setNumbers(fields, t)
}

// setNumbers sets the numbers that a struct returns from Numbers instead of having them in its tags. They replace the numbers that an inline struct
// has for the same key.
func setNumbers(fields []Field, t reflect.Type) error {
	owner, has := reflect.Zero(t).Interface().(numbered)
	if !has {
		return nil
	}
	numbers := owner.Numbers()
	for i := range fields {
		f := &fields[i]
		number, given := numbers[f.Key]
		if !given {
			continue
		}
		f.setNumber(number)
		delete(numbers, f.Key)
	}
	if len(numbers) > 0 {
		return fmt.Errorf("numbers of keys that there are not: %s", strings.Join(slices.Sorted(maps.Keys(numbers)), ", "))
	}
	return nil
}

func (f *Field) setNumber(number Number) {
	if number.Min != 0 {
		f.Min = &number.Min
	}
	if number.Max != 0 {
		f.Max = &number.Max
	}
	if number.Default != 0 {
		f.Default = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(number.Default)}
	}
}

func (f *Field) readTags(tag reflect.StructTag) (err error) {
	f.Required, f.Remedy = tag.Get("required") == "true", tag.Get("remedy")
	if f.Min, err = bound(tag.Get("min")); err != nil {
		return err
	}
	if f.Max, err = bound(tag.Get("max")); err != nil {
		return err
	}
	if text, given := tag.Lookup("default"); given {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(text), &document); err != nil {
			return err
		}
		f.Default = document.Content[0]
	}
	return nil
}

func bound(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	value, err := strconv.Atoi(text)
	return &value, err
}

// limits of the field's value.
func (f *Field) limits() limits { return limits{min: f.Min, max: f.Max} }

// limits of a value.
type limits struct {
	min, max *int // of a whole number, or of the number of members; nil is none
	empty    bool // text may be empty
}

// shape is a mapping with fixed keys.
type shape struct {
	fields []Field
	byKey  map[string]*Field
	keys   []string // sorted, for messages
}

func shapeOf(t reflect.Type) (*shape, error) {
	fields, err := Fields(t)
	if err != nil {
		return nil, err
	}
	s := &shape{fields: fields, byKey: make(map[string]*Field, len(fields))}
	for i := range fields {
		s.byKey[fields[i].Key] = &fields[i]
		s.keys = append(s.keys, fields[i].Key)
	}
	slices.Sort(s.keys)
	return s, nil
}
