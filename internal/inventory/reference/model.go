package reference

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

// inventorySource is the package with the types, relative to this package's folder.
const (
	inventorySource  = ".."
	referencePackage = "github.com/em-infra/em-infra/internal/inventory/reference"
)

// key is one key of a mapping.
type key struct {
	strictyaml.Field
	// about is the comment without the parts that have a field of their own.
	about string
	// fallback is the default in words; empty if there is none.
	fallback string
	// shape of the value, without lists and optional values.
	shape shape
	// inner are the keys of a mapping with fixed keys, or of a list of such mappings.
	inner []key
}

// shape is a kind of value.
type shape struct {
	list, table bool
	item        reflect.Type
}

// comments are the comments of types and fields, by import path and name.
type comments map[string]string

// readComments reads the comments of the inventory's types. The working folder is that of this package.
func readComments() (comments, error) {
	var reflector jsonschema.Reflector
	if err := reflector.AddGoComments(referencePackage, inventorySource, jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments of the inventory's types: %w", err)
	}
	return reflector.CommentMap, nil
}

// of returns the comment of a field, or of a type if field is empty.
func (c comments) of(t reflect.Type, field string) string {
	name := t.PkgPath() + "." + t.Name()
	if field != "" {
		name += "." + field
	}
	return strings.Join(strings.Fields(c[name]), " ")
}

// keysOf describes a mapping with fixed keys.
func keysOf(t reflect.Type, comments comments) ([]key, error) {
	fields, err := strictyaml.Fields(t)
	if err != nil {
		return nil, err
	}
	keys := make([]key, 0, len(fields))
	for _, field := range fields {
		k := key{Field: field, shape: shapeOf(field.Type)}
		comment := comments.of(field.Owner, field.Name)
		if comment == "" {
			return nil, fmt.Errorf("%s.%s has no comment", field.Owner, field.Name)
		}
		k.about, k.fallback = parts(comment, field)
		if k.shape.mapping() {
			if k.inner, err = keysOf(k.shape.item, comments); err != nil {
				return nil, err
			}
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// shapeOf unpacks a type.
func shapeOf(t reflect.Type) shape {
	s := shape{item: t}
	switch t.Kind() {
	case reflect.Slice:
		s.list, s.item = true, t.Elem()
	case reflect.Map:
		s.table, s.item = true, t.Elem()
	case reflect.Pointer:
		s.item = t.Elem()
	}
	return s
}

// mapping reports whether the value, or each item of the list, is a mapping with fixed keys.
func (s shape) mapping() bool {
	switch reflect.New(s.item).Interface().(type) {
	case *netip.Addr, *netip.Prefix, *inventory.Nameserver, *inventory.Version, *inventory.KubernetesVersion, *inventory.Contract, *inventory.Taint, *inventory.ChartVersion, *inventory.Interval, *inventory.MaxUnavailable, *inventory.Recipient, *inventory.BucketURL, *inventory.Schedule, *systems.Address, *systems.URL:
		return false
	}
	return s.item.Kind() == reflect.Struct
}

// The parts of a comment that have a column of their own.
var (
	requiredPart = regexp.MustCompile(` ?Required\.( |$)`)
	defaultPart  = regexp.MustCompile(` ?Default: (.+?)\.( |$)`)
)

// parts splits a field's comment. It begins with the Go name, which the key replaces.
func parts(comment string, field strictyaml.Field) (about, fallback string) {
	about = requiredPart.ReplaceAllString(comment, "$1")
	if found := defaultPart.FindStringSubmatch(about); found != nil {
		fallback = found[1]
		about = defaultPart.ReplaceAllString(about, "$2")
	}
	if field.Key != strings.ToLower(field.Name) {
		about = strings.Replace(about, field.Name, field.Key, 1)
	}
	return strings.TrimSpace(about), fallback
}

// defaultValue returns the default tag as data.
func defaultValue(node *yaml.Node) (any, error) {
	if node == nil {
		return nil, nil
	}
	var value any
	err := node.Decode(&value)
	return value, err
}
