package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Differences returns the paths at which two values differ, sorted: paths that exist on one side only, or whose values are not
// both objects or both lists.
func Differences(path string, before, after any) []string {
	if reflect.DeepEqual(before, after) || isEmpty(before) && isEmpty(after) {
		return nil
	}
	switch before := before.(type) {
	case map[string]any:
		if after, same := after.(map[string]any); same {
			return differencesOfObjects(path, before, after)
		}
	case []any:
		if after, same := after.([]any); same {
			return differencesOfLists(path, before, after)
		}
	}
	return []string{path}
}

// isEmpty reports whether a value is empty at every depth: a refresh writes empty blocks where a program sets none.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		for name, member := range value {
			if !strings.HasPrefix(name, "__") && !isEmpty(member) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isEmpty(item) })
	default:
		return false
	}
}

func differencesOfObjects(path string, before, after map[string]any) []string {
	names := maps.Clone(before)
	maps.Copy(names, after)
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if strings.HasPrefix(name, "__") {
			continue // notes of the engine's bridge, such as __defaults
		}
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		paths = append(paths, Differences(inner, before[name], after[name])...)
	}
	return paths
}

func differencesOfLists(path string, before, after []any) []string {
	var paths []string
	for i := range max(len(before), len(after)) {
		var was, is any
		if i < len(before) {
			was = before[i]
		}
		if i < len(after) {
			is = after[i]
		}
		paths = append(paths, Differences(fmt.Sprintf("%s[%d]", path, i), was, is)...)
	}
	return paths
}
