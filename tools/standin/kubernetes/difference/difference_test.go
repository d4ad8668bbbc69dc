package difference_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/difference"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

type object = map[string]any

func TestCompare(t *testing.T) {
	t.Parallel()
	replaceOn := []resource.PropertyPath{{"spec", "selector"}, {"spec", "containers", "*", "image"}}
	path := func(parts ...any) resource.PropertyPath { return parts }
	change := func(kind operation.ChangeKind, replaces bool, parts ...any) operation.Change {
		return operation.Change{Path: path(parts...), Kind: kind, Replaces: replaces}
	}
	unknown := resource.Computed{Element: resource.NewProperty("")}
	for name, tc := range map[string]struct {
		before, after object
		want          []operation.Change
	}{
		"nothing": {object{"a": []any{1.0}}, object{"a": []any{int64(1)}}, nil},
		"one of each, in order": {
			object{"c": "1", "a": "1"}, object{"c": "2", "b": "1"},
			[]operation.Change{
				change(operation.Deleted, false, "a"), change(operation.Added, false, "b"), change(operation.Updated, false, "c"),
			},
		},
		"elements of a list": {
			object{"a": []any{"x", "y", "z"}}, object{"a": []any{"x", "Y"}},
			[]operation.Change{change(operation.Updated, false, "a", 1), change(operation.Deleted, false, "a", 2)},
		},
		"another type":    {object{"a": "x"}, object{"a": object{}}, []operation.Change{change(operation.Updated, false, "a")}},
		"not known":       {object{"a": "x"}, object{"a": unknown}, []operation.Change{change(operation.Updated, false, "a")}},
		"null is a value": {object{}, object{"a": nil}, []operation.Change{change(operation.Added, false, "a")}},
		"below a path": {
			object{"spec": object{"selector": object{"app": "a"}}}, object{"spec": object{"selector": object{"app": "b"}}},
			[]operation.Change{change(operation.Updated, true, "spec", "selector", "app")},
		},
		"above a path that it has": {
			object{}, object{"spec": object{"selector": object{}}}, []operation.Change{change(operation.Added, true, "spec")},
		},
		"above a path that it has not": {
			object{}, object{"spec": object{"replicas": 1}}, []operation.Change{change(operation.Added, false, "spec")},
		},
		"in a list": {
			object{"spec": object{"containers": []any{object{"image": "a", "name": "x"}}}},
			object{"spec": object{"containers": []any{object{"image": "b", "name": "y"}}}},
			[]operation.Change{
				change(operation.Updated, true, "spec", "containers", 0, "image"),
				change(operation.Updated, false, "spec", "containers", 0, "name"),
			},
		},
		"above a list": {
			object{}, object{"spec": object{"containers": []any{object{"image": "b"}}}},
			[]operation.Change{change(operation.Added, true, "spec")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, difference.Compare(tc.before, tc.after, replaceOn))
		})
	}
}

func TestPruneKeepsWhatTheShapeHas(t *testing.T) {
	t.Parallel()
	live := object{
		"spec":   object{"replicas": 1, "paused": false, "ports": []any{object{"port": 1, "protocol": "TCP"}, object{"port": 2}}},
		"status": object{},
	}
	require.Equal(t,
		object{"spec": object{"replicas": 1, "ports": []any{object{"port": 1}}}},
		difference.Prune(live, object{"spec": object{"replicas": 9, "ports": []any{object{"port": 9}}, "gone": 1}}))
	require.Equal(t, object{"spec": live["spec"]}, difference.Prune(live, object{"spec": "of another type"}))
}

func TestUnionHasWhatEitherHas(t *testing.T) {
	t.Parallel()
	require.Equal(t,
		object{"a": 2, "b": object{"x": 1, "y": 2}, "c": 3, "d": []any{2, 3}},
		difference.Union(object{"a": 1, "b": object{"x": 1}, "d": []any{1}}, object{"a": 2, "b": object{"y": 2}, "c": 3, "d": []any{2, 3}}))
}
