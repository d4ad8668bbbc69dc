package risk

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Reboots reports whether the provider reboots a virtual machine, or stops and starts it, for an update of its inputs: the
// table that a preview is told by, for the run itself.
func Reboots(before, after resource.PropertyMap) bool {
	return slices.ContainsFunc(differences("", before.Mappable(), after.Mappable()), rebootsFor)
}

// IsNote reports whether an update changes nothing but what Proxmox VE notes of a machine, which the machine never sees.
func IsNote(before, after resource.PropertyMap) bool {
	paths := differences("", before.Mappable(), after.Mappable())
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path string) bool { return !notes.MatchString(path) })
}

// notes are also the limits of disks, which the provider fills in with zeros at each update and never reads back (F22).
var notes = regexp.MustCompile(`^(description|tags(\[\d+\])?|disks\[\d+\]\.speed)$`)

// differences are the paths at which two values differ, sorted: those of what is there on one side only, or that is no
// object and no list on both.
func differences(path string, before, after any) []string {
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

// isEmpty reports whether nothing is in a value: a refresh writes blocks down in which nothing is, where a program gives none.
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
		paths = append(paths, differences(inner, before[name], after[name])...)
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
		paths = append(paths, differences(fmt.Sprintf("%s[%d]", path, i), was, is)...)
	}
	return paths
}
