package properties_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

func secret(value any) resource.PropertyValue {
	return resource.MakeSecret(resource.NewPropertyValue(value))
}

func of(values map[string]any) resource.PropertyMap { return resource.NewPropertyMapFromMap(values) }

func TestPlainAndBack(t *testing.T) {
	t.Parallel()
	given := of(map[string]any{
		"secret": secret(map[string]any{"deeper": secret("hush")}), "null": nil,
		"x_kubernetes_list_type": "map", "other_name": "as it is",
	})
	plain := properties.Plain(given)
	require.Equal(t, map[string]any{
		"secret": map[string]any{"deeper": "hush"}, "null": nil, "x-kubernetes-list-type": "map", "other_name": "as it is",
	}, plain)
	back := properties.FromPlain(plain)
	require.Contains(t, back, resource.PropertyKey("x_kubernetes_list_type"))
	require.Contains(t, back, resource.PropertyKey("other_name"))
	require.True(t, back["null"].IsNull())
}

func TestWhole(t *testing.T) {
	t.Parallel()
	require.Equal(t,
		map[string]any{"whole": int64(3), "part": 0.5, "huge": 1e300, "list": []any{int64(1), "1"}},
		properties.Whole(map[string]any{"whole": 3.0, "part": 0.5, "huge": 1e300, "list": []any{1.0, "1"}}))
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	unknown := resource.Computed{Element: resource.NewProperty("")}
	value := map[string]any{"a": []any{map[string]any{"b": unknown}, "c"}}
	require.True(t, properties.Unknown(value))
	blank := properties.Blank(value)
	require.Equal(t, map[string]any{"a": []any{map[string]any{"b": nil}, "c"}}, blank)
	require.False(t, properties.Unknown(blank))

	target := of(map[string]any{"a": []any{map[string]any{"b": nil}, "c"}})
	properties.MarkUnknown(target, of(map[string]any{"a": []any{map[string]any{"b": unknown}, "c"}, "new": unknown}))
	require.True(t, target["a"].ArrayValue()[0].ObjectValue()["b"].IsComputed())
	require.Equal(t, "c", target["a"].ArrayValue()[1].StringValue())
	require.True(t, target["new"].IsComputed(), "an unknown value is not lost")
}

func TestMarkSecrets(t *testing.T) {
	t.Parallel()
	target := of(map[string]any{
		"spec": map[string]any{"key": "hush", "size": 3}, "list": []any{"a", "hush"}, "open": "said",
	})
	properties.MarkSecrets(target, of(map[string]any{
		"spec": map[string]any{"key": secret("hush"), "size": 3}, "list": []any{"a", secret("hush")}, "gone": secret("hush"),
	}))
	require.True(t, target["spec"].ObjectValue()["key"].IsSecret())
	require.False(t, target["spec"].ObjectValue()["size"].IsSecret())
	require.True(t, target["list"].IsSecret(), "a list as a whole: its order may change")
	require.False(t, target["open"].ContainsSecrets())
	require.NotContains(t, target, resource.PropertyKey("gone"))

	target = of(map[string]any{"kind": "Secret", "data": map[string]any{"a": "aHVzaA=="}, "type": "Opaque"})
	properties.MarkSecrets(target, nil)
	require.True(t, target["data"].IsSecret(), "whatever the inputs say")
	require.False(t, target["type"].IsSecret())
}
