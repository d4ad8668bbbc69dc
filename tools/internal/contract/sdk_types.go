package contract

import (
	"fmt"
	"go/ast"
	"reflect"
	"strconv"
	"strings"
)

// properties adds the types of a struct's properties: its fields with a "pulumi" tag. A missing struct is an error unless it is
// optional.
func (p sdkPackage) properties(place, structName string, optional bool) error {
	fields, ok := p.named[structName].(*ast.StructType)
	if !ok {
		if optional {
			return nil
		}
		return fmt.Errorf("no struct %s", structName)
	}
	for _, field := range fields.Fields.List {
		if name := propertyName(field); name != "" {
			if err := p.typ(place+"."+name, field.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// propertyNames maps the names of a struct's fields to those of its properties.
func (p sdkPackage) propertyNames(structName string) map[string]string {
	names := map[string]string{}
	if fields, ok := p.named[structName].(*ast.StructType); ok {
		for _, field := range fields.Fields.List {
			for _, ident := range field.Names {
				names[ident.Name] = propertyName(field)
			}
		}
	}
	return names
}

func propertyName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return ""
	}
	return reflect.StructTag(tag).Get("pulumi")
}

// plain maps the Go types of plain values to property types.
func plain(name string) (string, bool) {
	switch name {
	case "string":
		return typeString, true
	case "bool":
		return typeBoolean, true
	case "int":
		return typeInteger, true
	case "float64":
		return typeNumber, true
	default:
		return "", false
	}
}

// typ adds the type of a property: a plain type ("*string", "[]Disk") or an output type ("pulumi.StringPtrOutput").
func (p sdkPackage) typ(place string, expr ast.Expr) error {
	switch t := expr.(type) {
	case *ast.StarExpr:
		return p.typ(place, t.X)
	case *ast.InterfaceType:
		p.facts[place] = typeAny
		return nil
	case *ast.ArrayType:
		p.facts[place] = typeList
		return p.typ(place+"[]", t.Elt)
	case *ast.MapType:
		p.facts[place] = typeMap
		return p.typ(place+"{}", t.Value)
	case *ast.SelectorExpr:
		return p.wrapped(place, strings.TrimSuffix(t.Sel.Name, "Output"))
	case *ast.Ident:
		return p.ident(place, t.Name)
	default:
		return fmt.Errorf("%s: type %T is not understood", place, expr)
	}
}

func (p sdkPackage) ident(place, name string) error {
	if simple, ok := plain(name); ok {
		p.facts[place] = simple
		return nil
	}
	if output, ok := strings.CutSuffix(name, "Output"); ok {
		return p.wrapped(place, output)
	}
	switch t := p.named[name].(type) {
	case *ast.StructType:
		p.facts[place] = typeObject
		return p.properties(place, name, false)
	case *ast.Ident: // an enum
		return p.typ(place, t)
	default:
		return fmt.Errorf("%s: no type %s", place, name)
	}
}

// wrapped adds the type that the name of an output type contains, without its "Output": StringPtr, DiskArray.
func (p sdkPackage) wrapped(place, name string) error {
	switch p.named[name].(type) {
	case *ast.StructType, *ast.Ident: // not "DiskArray", which is a Go type, too
		return p.ident(place, name)
	}
	switch name {
	case "String", "Bool", "Int", "Float64":
		return p.ident(place, strings.ToLower(name))
	case "Any", "": // pulumi.AnyOutput, and the bare pulumi.Output
		p.facts[place] = typeAny
	case "Archive":
		p.facts[place] = typeArchive
	case "AssetOrArchive":
		p.facts[place] = typeAssetOrArchive
	case "Array", "Map": // of anything
		return p.wrapped(place, "Any"+name)
	default:
		if elem, ok := strings.CutSuffix(name, "Ptr"); ok {
			return p.wrapped(place, elem)
		}
		if elem, ok := strings.CutSuffix(name, "Array"); ok {
			p.facts[place] = typeList
			return p.wrapped(place+"[]", elem)
		}
		if elem, ok := strings.CutSuffix(name, "Map"); ok {
			p.facts[place] = typeMap
			return p.wrapped(place+"{}", elem)
		}
		return fmt.Errorf("%s: output type %s is not understood", place, name)
	}
	return nil
}
