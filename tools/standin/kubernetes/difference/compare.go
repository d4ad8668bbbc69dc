package difference

import (
	"maps"
	"reflect"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Compare returns the changes from before to after, one per property, ordered by path. A change replaces the resource if it is at
// or below one of the paths of replaceOn. It also replaces it above such a path, if the new value contains the path. The element
// "*" of a path matches each index of a list.
func Compare(before, after map[string]any, replaceOn []resource.PropertyPath) []operation.Change {
	c := comparison{replaceOn: replaceOn}
	c.maps(nil, before, after)
	return c.changes
}

type comparison struct {
	replaceOn []resource.PropertyPath
	changes   []operation.Change
}

func (c *comparison) maps(path resource.PropertyPath, before, after map[string]any) {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		was, had := before[name]
		is, has := after[name]
		c.element(step(path, name), was, had, is, has)
	}
}

func (c *comparison) lists(path resource.PropertyPath, before, after []any) {
	at := func(list []any, i int) (any, bool) {
		if i < len(list) {
			return list[i], true
		}
		return nil, false
	}
	for i := range max(len(before), len(after)) {
		was, had := at(before, i)
		is, has := at(after, i)
		c.element(step(path, i), was, had, is, has)
	}
}

func (c *comparison) element(path resource.PropertyPath, was any, had bool, is any, has bool) {
	if !had && !has {
		return
	}
	switch {
	case !had:
		c.add(path, operation.Added, is)
	case !has:
		c.add(path, operation.Deleted, nil)
	default:
		c.values(path, was, is)
	}
}

func (c *comparison) values(path resource.PropertyPath, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			c.maps(path, was, is)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			c.lists(path, was, is)
			return
		}
	}
	if !reflect.DeepEqual(properties.Whole(before), properties.Whole(after)) {
		c.add(path, operation.Updated, after)
	}
}

func (c *comparison) add(path resource.PropertyPath, kind operation.ChangeKind, value any) {
	c.changes = append(c.changes, operation.Change{
		Path: path, Kind: kind,
		Replaces: slices.ContainsFunc(c.replaceOn, func(pattern resource.PropertyPath) bool {
			return covers(pattern, path, value)
		}),
	})
}

// covers reports whether a change of a path to a value changes what the pattern names.
func covers(pattern, path resource.PropertyPath, value any) bool {
	for i := range min(len(pattern), len(path)) {
		_, index := path[i].(int)
		if pattern[i] != path[i] && (!index || pattern[i] != "*") {
			return false
		}
	}
	if len(pattern) <= len(path) {
		return true
	}
	return contains(value, pattern[len(path):])
}

func contains(value any, pattern resource.PropertyPath) bool {
	if len(pattern) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		name, _ := pattern[0].(string)
		element, ok := value[name]
		return ok && contains(element, pattern[1:])
	case []any:
		return pattern[0] == "*" && slices.ContainsFunc(value, func(element any) bool {
			return contains(element, pattern[1:])
		})
	default:
		return false
	}
}

// step returns a longer path that shares no memory with the shorter one.
func step(path resource.PropertyPath, next any) resource.PropertyPath {
	return append(slices.Clone(path), next)
}
