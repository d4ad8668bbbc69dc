package strictyaml

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFindings is how many findings are listed for one document.
	maxFindings = 1000
	// maxBorrowed is how many values of one document may be reached through aliases. Other values are limited by MaxBytes.
	maxBorrowed = 20_000
)

// Decode fills the struct that into points to from the document and from the default tags, and returns all findings, in the
// order of the document. A value with a finding is left unchanged. The error is a mistake in the struct's own tags.
func (d *Document) Decode(into any) ([]Finding, error) {
	target := reflect.ValueOf(into).Elem()
	decoder := &decoder{document: d, shapes: map[reflect.Type]*shape{}}
	if err := decoder.read(target.Type()); err != nil {
		return nil, err
	}
	decoder.value(d.root, nil, target, limits{})
	slices.SortStableFunc(decoder.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return decoder.findings, nil
}

type decoder struct {
	document *Document
	shapes   map[reflect.Type]*shape
	findings []Finding
	aliases  int // around the value that is being decoded
	borrowed int // values reached through aliases so far
}

// read collects the shapes of a type and of all types within it.
func (d *decoder) read(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return d.read(t.Elem())
	case reflect.Struct:
		if readsItself(t) || d.shapes[t] != nil {
			return nil
		}
		s, err := shapeOf(t)
		if err != nil {
			return err
		}
		d.shapes[t] = s
		for _, f := range s.fields {
			if err := d.read(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// readsItself reports whether a type reads its value from text or YAML itself, without its fields.
func readsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || pointer.Implements(reflect.TypeFor[yaml.Unmarshaler]())
}

// refuse records a finding at its node, or, without one, at the innermost value around the path.
func (d *decoder) refuse(node *yaml.Node, at *Path, fault Fault) {
	if len(d.findings) > maxFindings {
		return
	}
	finding := Finding{Path: at.String(), Fault: fault}
	switch {
	case len(d.findings) == maxFindings:
		finding = Finding{Fault: Fault{What: "has more problems than are listed", Do: "mend these first"}}
	case node != nil:
		finding.Line, finding.Column = node.Line, node.Column
	default:
		finding.Line, finding.Column = d.document.Position(at)
	}
	d.findings = append(d.findings, finding)
}

// value decodes one node of any kind.
func (d *decoder) value(node *yaml.Node, at *Path, into reflect.Value, limit limits) {
	node, leave := d.enter(node, at)
	defer leave()
	switch {
	case node == nil:
		return
	case node.Style&yaml.TaggedStyle != 0:
		d.refuse(node, at, Fault{What: "has a tag", Rule: "a field's type is fixed", Got: node.Tag, Do: "remove the tag"})
	case node.ShortTag() == "!!null":
		d.refuse(node, at, Fault{What: "has no value", Do: "give one or remove the key"})
	case into.Kind() == reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		d.value(node, at, target.Elem(), limit)
		into.Set(target)
	default:
		d.content(node, at, into, limit)
	}
}

// enter resolves an alias and counts the values that are reached through it; the node is nil if there are too many. The
// returned function ends the visit.
func (d *decoder) enter(node *yaml.Node, at *Path) (target *yaml.Node, leave func()) {
	if node.Kind == yaml.AliasNode {
		d.aliases++
		leave = func() { d.aliases-- }
	} else {
		leave = func() {}
	}
	if d.aliases == 0 {
		return node, leave
	}
	if d.borrowed++; d.borrowed <= maxBorrowed {
		return resolved(node), leave
	}
	if d.borrowed == maxBorrowed+1 {
		d.refuse(node, at, Fault{
			What: "is repeated too often by aliases",
			Rule: fmt.Sprintf("at most %d values through aliases", maxBorrowed), Do: "write the values out",
		})
	}
	return nil, leave
}

func (d *decoder) content(node *yaml.Node, at *Path, into reflect.Value, limit limits) {
	if raw, ok := into.Addr().Interface().(yaml.Unmarshaler); ok {
		d.raw(node, at, raw)
		return
	}
	if readsItself(into.Type()) {
		d.scalar(node, at, into, limit)
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		if d.is(node, at, yaml.MappingNode) {
			d.structure(node, at, into)
		}
	case reflect.Map:
		if d.is(node, at, yaml.MappingNode) && d.fits(len(node.Content)/2, node, at, "keys", limit) {
			d.table(node, at, into)
		}
	case reflect.Slice:
		if d.is(node, at, yaml.SequenceNode) && d.fits(len(node.Content), node, at, "items", limit) {
			d.list(node, at, into)
		}
	default:
		d.scalar(node, at, into, limit)
	}
}

// structure decodes a mapping with fixed keys. Without a node it only applies the tags.
func (d *decoder) structure(node *yaml.Node, at *Path, into reflect.Value) {
	shape := d.shapes[into.Type()]
	given := make(map[string]bool, len(shape.fields))
	for _, pair := range d.pairs(node, at) {
		f := shape.byKey[pair.key]
		if f == nil {
			meant := Nearest(pair.key, shape.keys)
			given[meant] = true // so that it is not reported as missing
			d.refuse(pair.name, at.Key(pair.key), unknownKey(meant, shape.keys))
			continue
		}
		given[pair.key] = true
		target := into.FieldByIndex(f.index)
		if f.Default != nil && target.Kind() == reflect.Struct && !readsItself(target.Type()) {
			d.value(f.Default, at.Key(f.Key), target, limits{})
		}
		d.value(pair.value, at.Key(pair.key), target, f.limits())
	}
	for i := range shape.fields {
		if f := &shape.fields[i]; !given[f.Key] {
			d.absent(f, at, into.FieldByIndex(f.index))
		}
	}
}

// absent handles a missing key.
func (d *decoder) absent(f *Field, at *Path, into reflect.Value) {
	switch {
	case f.Required:
		d.refuse(nil, at.Key(f.Key), Fault{What: "is missing", Rule: "it has no default", Do: cmp.Or(f.Remedy, "add it")})
	case f.Default != nil:
		d.value(f.Default, at.Key(f.Key), into, limits{})
	case into.Kind() == reflect.Struct && !readsItself(into.Type()):
		d.structure(nil, at.Key(f.Key), into)
	}
}

func unknownKey(meant string, known []string) Fault {
	if meant != "" {
		return Fault{What: "no such key", Do: "did you mean " + meant + "?"}
	}
	return Fault{What: "no such key", Rule: "the keys here are " + strings.Join(known, ", "), Do: "remove it"}
}

// table decodes a mapping with free keys.
func (d *decoder) table(node *yaml.Node, at *Path, into reflect.Value) {
	table := reflect.MakeMap(into.Type())
	for _, pair := range d.pairs(node, at) {
		before := len(d.findings)
		value := reflect.New(into.Type().Elem()).Elem()
		d.value(pair.value, at.Key(pair.key), value, limits{empty: true})
		if len(d.findings) == before {
			table.SetMapIndex(reflect.ValueOf(pair.key), value)
		}
	}
	into.Set(table)
}

func (d *decoder) list(node *yaml.Node, at *Path, into reflect.Value) {
	list := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, item := range node.Content {
		d.value(item, at.Index(i), list.Index(i), limits{})
	}
	into.Set(list)
}

// pair is one key of a mapping with its value.
type pair struct {
	key         string
	name, value *yaml.Node
}

// pairs returns the keys of a mapping, each once, in file order.
func (d *decoder) pairs(node *yaml.Node, at *Path) []pair {
	if node == nil {
		return nil
	}
	pairs := make([]pair, 0, len(node.Content)/2)
	lines := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode:
			d.refuse(name, at, Fault{What: "has a key that is no text", Rule: "keys are words", Do: "write a plain key"})
		case name.ShortTag() == "!!merge":
			d.refuse(name, at.Key(name.Value), Fault{What: "merge keys are not supported", Do: "write the keys out"})
		case lines[name.Value] > 0:
			d.refuse(name, at.Key(name.Value), Fault{
				What: "is given twice",
				Rule: "first in line " + strconv.Itoa(lines[name.Value]), Do: "remove one of them",
			})
		default:
			lines[name.Value] = name.Line
			pairs = append(pairs, pair{key: name.Value, name: name, value: value})
		}
	}
	return pairs
}

// is refuses a node of another kind.
func (d *decoder) is(node *yaml.Node, at *Path, kind yaml.Kind) bool {
	if node.Kind != kind {
		d.refuse(node, at, mistyped(node, kind))
	}
	return node.Kind == kind
}

// fits refuses a list or a mapping with too few or too many members.
func (d *decoder) fits(count int, node *yaml.Node, at *Path, noun string, limit limits) bool {
	switch {
	case limit.min != nil && count < *limit.min:
		d.refuse(node, at, Fault{
			What: "has too few " + noun, Rule: "at least " + strconv.Itoa(*limit.min),
			Got: strconv.Itoa(count), Do: "add what is missing",
		})
	case limit.max != nil && count > *limit.max:
		d.refuse(node, at, Fault{
			What: "has too many " + noun, Rule: "at most " + strconv.Itoa(*limit.max),
			Got: strconv.Itoa(count), Do: "remove some",
		})
	default:
		return true
	}
	return false
}
