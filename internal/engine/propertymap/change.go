package propertymap

import (
	"encoding/json"
	"maps"
)

// Change changes the object at a path in a property of a deployment with its secrets in clear text, and returns the property. What is
// marked as a secret stays marked, at the same depth. A path that leads to no object is [ErrSealed].
func Change(value any, change func(map[string]any) error, path ...string) (any, error) {
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, ErrSealed
	}
	object = maps.Clone(object)
	if IsSecret(object) {
		return changeSealed(object, change, path...)
	}
	if len(path) == 0 {
		return object, change(object)
	}
	member, err := Change(object[path[0]], change, path[1:]...)
	object[path[0]] = member
	return object, err
}

func changeSealed(sealed map[string]any, change func(map[string]any) error, path ...string) (any, error) {
	text, isText := sealed["plaintext"].(string)
	var plain any
	if !isText || json.Unmarshal([]byte(text), &plain) != nil {
		return nil, ErrSealed
	}
	changed, err := Change(plain, change, path...)
	if err != nil {
		return nil, err
	}
	written, err := json.Marshal(changed)
	sealed["plaintext"] = string(written)
	return sealed, err
}
