// Package propertymap reads the inputs and outputs of resources in plans and states: by path, and with their secrets in plain text or
// sealed. Pure.
package propertymap

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// At returns the value of a property; nil if it is missing.
func At(properties map[string]any, path string) any {
	parsed, err := resource.ParsePropertyPath(path)
	if err != nil {
		return nil
	}
	var value any = properties
	for _, key := range parsed {
		switch k := key.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[k]
		case int:
			list, _ := value.([]any)
			if k >= len(list) {
				return nil
			}
			value = list[k]
		}
	}
	return value
}

// Text returns the value of a property of type string; empty for another type.
func Text(properties map[string]any, path string) string {
	value, _ := At(properties, path).(string)
	return value
}

// List returns the value of a property of type list; empty for another type.
func List(properties map[string]any, path string) []any {
	value, _ := At(properties, path).([]any)
	return value
}

// Int returns the value of a property of type number as an integer. isNumber is false for another type.
func Int(properties map[string]any, path string) (value int, isNumber bool) {
	number, isNumber := At(properties, path).(float64)
	return int(number), isNumber
}

// PlainText returns the text of a property that may be a secret. isText is false for a missing property or another type. The error
// is [ErrSealed].
func PlainText(properties map[string]any, path string) (text string, isText bool, err error) {
	plain, err := Unseal(At(properties, path))
	if err != nil {
		return "", false, err
	}
	text, isText = plain.(string)
	return text, isText, nil
}
