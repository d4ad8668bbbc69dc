package properties

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Kubernetes' extensions of JSON schema have dashes in their names. Properties cannot have dashes, so they have underscores instead
// (mapReplUnderscoreToDash in provider.go of pulumi-kubernetes).
const extensionInProperties, extensionInObjects = "x_kubernetes_", "x-kubernetes-"

// Plain returns properties as JSON values, without secrets and with Kubernetes' names. Unknown values stay resource.Computed.
func Plain(properties resource.PropertyMap) map[string]any {
	return properties.MapRepl(func(name string) (string, bool) {
		return strings.ReplaceAll(name, "_", "-"), strings.HasPrefix(name, extensionInProperties)
	}, func(value resource.PropertyValue) (any, bool) {
		if !value.IsSecret() {
			return nil, false
		}
		return Plain(resource.PropertyMap{"": value.SecretValue().Element})[""], true
	})
}

// FromPlain returns JSON values as properties.
func FromPlain(values map[string]any) resource.PropertyMap {
	return resource.NewPropertyMapFromMapRepl(values, func(name string) (resource.PropertyKey, bool) {
		return resource.PropertyKey(strings.ReplaceAll(name, "-", "_")), strings.HasPrefix(name, extensionInObjects)
	}, nil)
}

// Whole returns a copy in which whole numbers are integers, as in decoded Kubernetes objects.
func Whole(value any) any {
	switch value := value.(type) {
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return int64(value)
		}
		return value
	case map[string]any:
		whole := make(map[string]any, len(value))
		for name, element := range value {
			whole[name] = Whole(element)
		}
		return whole
	case []any:
		whole := make([]any, len(value))
		for i, element := range value {
			whole[i] = Whole(element)
		}
		return whole
	default:
		return value
	}
}

// Unknown reports whether a plain value, or a part of it, is unknown.
func Unknown(value any) bool {
	switch value := value.(type) {
	case resource.Computed, resource.Output:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(value)), Unknown)
	case []any:
		return slices.ContainsFunc(value, Unknown)
	default:
		return false
	}
}

// Blank returns a copy of a plain value with nulls in place of unknown values.
func Blank(value any) any {
	switch value := value.(type) {
	case resource.Computed, resource.Output:
		return nil
	case map[string]any:
		blank := make(map[string]any, len(value))
		for name, element := range value {
			blank[name] = Blank(element)
		}
		return blank
	case []any:
		blank := make([]any, len(value))
		for i, element := range value {
			blank[i] = Blank(element)
		}
		return blank
	default:
		return value
	}
}
