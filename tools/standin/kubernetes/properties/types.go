package properties

import (
	"reflect"
	"strings"
)

// Types returns the types of a struct's fields in a package schema (string, boolean, integer, number, array, object), by their JSON
// names.
func Types[T any]() map[string]string {
	types := map[string]string{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		types[name] = typeOf(field.Type)
	}
	return types
}

func typeOf(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return typeOf(of.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	default:
		return "string"
	}
}
