package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// FromSchema reads the facts from a package schema in JSON.
func FromSchema(text []byte) (Facts, error) {
	var spec schema.PackageSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return nil, fmt.Errorf("read the package schema: %w", err)
	}
	s := schemaReader{spec: spec, facts: Facts{}}
	for token, resource := range spec.Resources {
		s.resource(token, resource)
		s.properties(token+" outputs", resource.Properties)
	}
	s.resource("pulumi:providers:"+spec.Name, spec.Provider)
	for token, function := range spec.Functions {
		if !strings.HasPrefix(token, "pulumi:") { // a method of the provider resource, which needs no SDK
			s.function(token, function)
		}
	}
	return s.facts, nil
}

type schemaReader struct {
	spec  schema.PackageSpec
	facts Facts
}

func (s schemaReader) resource(token string, resource schema.ResourceSpec) {
	s.facts[token] = "resource"
	s.properties(token+" inputs", resource.InputProperties)
	for _, name := range resource.RequiredInputs {
		s.facts[token+" required."+name] = "yes"
	}
	for name, property := range resource.Properties {
		if property.Secret {
			s.facts[token+" secret."+name] = "yes"
		}
	}
}

func (s schemaReader) function(token string, function schema.FunctionSpec) {
	s.facts[token] = "function"
	if function.Inputs != nil {
		s.properties(token+" inputs", function.Inputs.Properties)
	}
	if result := function.ReturnType; result != nil && result.ObjectTypeSpec != nil {
		s.properties(token+" outputs", result.ObjectTypeSpec.Properties)
	}
}

func (s schemaReader) properties(place string, properties map[string]schema.PropertySpec) {
	for name, property := range properties {
		s.typ(place+"."+name, property.TypeSpec)
	}
}

func (s schemaReader) typ(place string, t schema.TypeSpec) {
	switch {
	case t.Ref != "":
		s.ref(place, t.Ref)
	case len(t.OneOf) > 0 && t.Type != "":
		s.facts[place] = t.Type // an open enum
	case len(t.OneOf) > 0:
		s.facts[place] = typeAny
	case t.Items != nil:
		s.facts[place] = typeList
		s.typ(place+"[]", *t.Items)
	case t.AdditionalProperties != nil:
		s.facts[place] = typeMap
		s.typ(place+"{}", *t.AdditionalProperties)
	default:
		s.facts[place] = t.Type
	}
}

// ref follows a reference to a type of the package, or to a type that every package has.
func (s schemaReader) ref(place, ref string) {
	switch ref {
	case "pulumi.json#/Any":
		s.facts[place] = typeAny
	case "pulumi.json#/Asset":
		// The Go SDK generator accepts an asset or an archive here.
		s.facts[place] = typeAssetOrArchive
	case "pulumi.json#/Archive":
		s.facts[place] = typeArchive
	default:
		token := strings.TrimPrefix(ref, "#/types/")
		named, known := s.spec.Types[strings.ReplaceAll(token, "%2F", "/")]
		switch {
		case !known:
			s.facts[place] = "unknown " + ref
		case len(named.Enum) > 0:
			s.facts[place] = named.Type
		default:
			s.facts[place] = typeObject
			s.properties(place, named.Properties)
		}
	}
}
