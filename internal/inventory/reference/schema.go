package reference

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

// schemaDraft is the newest draft that editors' YAML support implements completely.
const schemaDraft = "http://json-schema.org/draft-07/schema#"

// inventoryFile is a file of an inventory of any kind.
type inventoryFile struct {
	name, kind string
	content    reflect.Type
}

// inventoryFiles are the files of all kinds of stacks.
var inventoryFiles = []inventoryFile{
	{manifest.ClusterFile, inventory.KindCluster, reflect.TypeFor[inventory.Cluster]()},
	{manifest.NodesFile, inventory.KindNodes, reflect.TypeFor[inventory.NodeList]()},
	{manifest.HostsFile, hosts.KindHosts, reflect.TypeFor[hosts.File]()},
	{manifest.SystemsFile, systems.KindSystems, reflect.TypeFor[systems.File]()},
}

// Schemas returns the JSON schemas of the files of inventories, by the name of the file.
func Schemas() (map[string][]byte, error) {
	schemas := map[string][]byte{}
	for _, file := range inventoryFiles {
		text, err := schemaFile(file.content, file.kind)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", file.name, err)
		}
		schemas[file.name] = text
	}
	return schemas, nil
}

func schemaFile(t reflect.Type, kind string) ([]byte, error) {
	comments, err := readComments()
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(t, comments)
	if err != nil {
		return nil, err
	}
	root, err := mappingSchema(keys)
	if err != nil {
		return nil, err
	}
	root.Version = schemaDraft
	root.Title = "em-infra " + kind
	root.Description = comments.of(t, "")
	for name, value := range map[string]string{"apiVersion": inventory.APIVersion, "kind": kind} {
		header, _ := root.Properties.Get(name)
		header.Const = value
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

func mappingSchema(keys []key) (*jsonschema.Schema, error) {
	schema := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, k := range keys {
		value, err := valueSchema(k)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Key, err)
		}
		value.Description = k.about
		if k.fallback != "" {
			value.Description += " Default: " + k.fallback + "."
		}
		if value.Default, err = defaultValue(k.Default); err != nil {
			return nil, fmt.Errorf("%s: %w", k.Key, err)
		}
		schema.Properties.Set(k.Key, value)
		if k.Required {
			schema.Required = append(schema.Required, k.Key)
		}
	}
	return schema, nil
}

func valueSchema(k key) (*jsonschema.Schema, error) {
	item, err := itemSchema(k)
	if err != nil {
		return nil, err
	}
	switch {
	case k.shape.list:
		return &jsonschema.Schema{Type: "array", Items: item, MinItems: count(k.Min), MaxItems: count(k.Max)}, nil
	case k.shape.table:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: item, MaxProperties: count(k.Max)}, nil
	}
	item.Minimum, item.Maximum = number(k.Min), number(k.Max)
	return item, nil
}

// itemSchema returns the schema of a value other than a list or a mapping with free keys.
func itemSchema(k key) (*jsonschema.Schema, error) {
	if k.shape.mapping() {
		return mappingSchema(k.inner)
	}
	value := reflect.New(k.shape.item).Interface()
	if words, ok := value.(interface{ Choices() []string }); ok {
		schema := &jsonschema.Schema{Type: "string"}
		for _, word := range words.Choices() {
			schema.Enum = append(schema.Enum, word)
		}
		return schema, nil
	}
	switch value.(type) {
	case *netip.Addr:
		return &jsonschema.Schema{Type: "string", AnyOf: []*jsonschema.Schema{{Format: "ipv4"}, {Format: "ipv6"}}}, nil
	case *netip.Prefix:
		return text(`^[0-9A-Fa-f:.]+/[0-9]{1,3}$`), nil
	case *inventory.Version, *inventory.KubernetesVersion:
		return text(`^v[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$`), nil
	case *inventory.Contract:
		return text(`^v[0-9]+\.[0-9]+$`), nil
	case *inventory.Nameserver:
		return &jsonschema.Schema{Type: "string", AnyOf: []*jsonschema.Schema{{Format: "ipv4"}, {Format: "ipv6"}, {Pattern: `^[A-Za-z0-9][A-Za-z0-9_.-]*/[a-z0-9]([a-z0-9-]*[a-z0-9])?$`}}}, nil
	case *inventory.MAC:
		return text(`^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$`), nil
	case *systems.Address:
		return text(`^(dhcp|[0-9A-Fa-f:.]+/[0-9]{1,3})$`), nil
	case *systems.URL:
		return text(`^https?://[^/@]+/.*[^/]$`), nil
	case *systems.Checksum:
		return text(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`), nil
	case *inventory.BDF:
		return text(`^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[01][0-9A-Fa-f]\.[0-7]$`), nil
	case *inventory.PCIID:
		return text(`^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}$`), nil
	case *inventory.Taint:
		return text(`:(NoSchedule|PreferNoSchedule|NoExecute)$`), nil
	case *inventory.ChartVersion:
		return text(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+].+)?$`), nil
	case *inventory.Schedule:
		return text(`^(@[a-z]+|@every \S+|\S+ \S+ \S+ \S+ \S+)$`), nil
	case *inventory.Interval:
		return text(`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`), nil
	case *inventory.BucketURL:
		return text(`^(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]([/?].*)?|file:///.*)$`), nil
	case *inventory.Recipient:
		return text(`^age1[02-9ac-hj-np-z]{58}$`), nil
	case *inventory.MaxUnavailable:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1"}, text(`^([1-9][0-9]?|100)%$`)}}, nil
	case *inventory.Values:
		return &jsonschema.Schema{Type: "object"}, nil
	case *inventory.Patch:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "object"}, {Type: "string"}}}, nil
	}
	return plainSchema(k)
}

func plainSchema(k key) (*jsonschema.Schema, error) {
	switch k.shape.item.Kind() {
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer"}, nil
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.String:
		schema := &jsonschema.Schema{Type: "string"}
		if !k.shape.table { // a label may have an empty value
			schema.MinLength = count(new(1))
		}
		return schema, nil
	default:
		return nil, fmt.Errorf("no schema for %s", k.shape.item)
	}
}

// text returns the schema of a string that matches a pattern.
func text(pattern string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern}
}

func number(bound *int) json.Number {
	if bound == nil {
		return ""
	}
	return json.Number(strconv.Itoa(*bound))
}

func count(bound *int) *uint64 {
	if bound == nil {
		return nil
	}
	return new(uint64(*bound))
}
