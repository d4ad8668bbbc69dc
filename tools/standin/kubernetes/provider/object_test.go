package provider_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	configMap = "kubernetes:core/v1:ConfigMap"
	secret    = "kubernetes:core/v1:Secret"
	namespace = "kubernetes:core/v1:Namespace"
)

func TestLifeOfAnObject(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, map[string]any{"enableConfigMapMutable": true}), newNamespace(t)
	config := func(data map[string]any) map[string]any { return map[string]any{"data": data} }
	named := map[string]any{"name": "settings", "namespace": in}

	m := h.mustCreate(configMap, "settings", object("v1", "ConfigMap", named, config(map[string]any{"a": "1", "b": "2"})))
	require.Equal(t, in+"/settings", m.id)
	changes, _ := m.diff(object("v1", "ConfigMap", named, config(map[string]any{"a": "1", "b": "2"})))
	require.Empty(t, changes)

	next := object("v1", "ConfigMap", named, config(map[string]any{"a": "3", "c": "4"}))
	changes, _ = m.diff(next)
	require.Equal(t, []string{"data.a: UPDATE", "data.b: DELETE", "data.c: ADD"}, changes)
	require.NoError(t, m.update(next))
	live, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "3", "c": "4"}, live.Data)
	require.Len(t, live.ManagedFields, 1, "the fields of the creation were taken over")
	require.Equal(t, m.state["__fieldManager"].StringValue(), live.ManagedFields[0].Manager)

	live.Data["a"] = "drift"
	_, err = sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Update(t.Context(), live, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.True(t, m.refresh())
	changes, _ = m.diff(next)
	require.Equal(t, []string{"data.a: UPDATE"}, changes)

	require.NoError(t, m.delete())
	require.False(t, m.refresh())
	require.NoError(t, m.delete(), "the object is already gone")
}

// TestCheckFillsIn: a generated name stays, and the namespace is the provider's.
func TestCheckFillsIn(t *testing.T) {
	t.Parallel()
	h := startOn(t, map[string]any{"namespace": "home"})
	checked := h.check(urn(configMap, "settings"), object("v1", "ConfigMap", map[string]any{}, nil), nil)
	metadata := checked["metadata"].ObjectValue()
	require.Regexp(t, `^settings-[0-9a-f]{8}$`, metadata["name"].StringValue())
	require.Equal(t, "home", metadata["namespace"].StringValue())
	require.Equal(t, "true", metadata["annotations"].ObjectValue()["pulumi.com/autonamed"].StringValue())
	again := h.check(urn(configMap, "settings"), object("v1", "ConfigMap", map[string]any{}, nil), checked)
	require.Equal(t, checked, again)

	wide := h.check(urn(namespace, "n"), object("v1", "Namespace", map[string]any{"name": "n"}, nil), nil)
	require.NotContains(t, wide["metadata"].ObjectValue(), "namespace")
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	named := map[string]any{"name": "a"}
	for name, tc := range map[string]struct {
		token, want string
		given       map[string]any
	}{
		"what the official schema has not": {
			configMap, `: unknown field "dtaa": the official schema has no such property of ConfigMap`,
			map[string]any{"dtaa": map[string]any{"a": "b"}},
		},
		"what it has not further down": {
			"kubernetes:core/v1:Pod", `: unknown field "spec.containers[0].img": the official schema has no such property of Pod`,
			map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "img": "b"}}}},
		},
		"patches": {
			"kubernetes:core/v1:ConfigMapPatch", ": the stand-in serves no Patch resources: use the official provider for ConfigMapPatch", nil,
		},
		"lists": {
			"kubernetes:core/v1:ConfigMapList", ": list resources cannot be created: register the objects of the list one by one", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := tc.token[len("kubernetes:core/v1:"):]
			require.Equal(t, []string{tc.want}, h.failures(urn(tc.token, "a"), object("v1", kind, named, tc.given)))
		})
	}
	require.Equal(t, []string{
		"metadata.generateName: the `.metadata.generateName` field is not supported in Server-Side Apply mode",
	}, h.failures(urn(configMap, "a"), object("v1", "ConfigMap", map[string]any{"generateName": "a-"}, nil)))
}

// TestSecretsStaySecret: secrets are secret in the inputs, in the state, and where the API server moves them to.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, map[string]any{"enableSecretMutable": true}), newNamespace(t)
	given := object("v1", "Secret", map[string]any{"name": "key", "namespace": in}, map[string]any{
		"stringData": map[string]any{"age.agekey": resource.MakeSecret(resource.NewProperty("hush"))},
	})
	m := h.mustCreate(secret, "key", given)
	for name, properties := range map[string]resource.PropertyMap{
		"inputs": m.inputs, "state": m.state, "inputs in the state": m.state["__inputs"].ObjectValue(),
	} {
		require.True(t, properties["data"].IsSecret(), name)
		require.NotContains(t, properties, resource.PropertyKey("stringData"), name)
	}
	require.Equal(t, "aHVzaA==", m.state["data"].SecretValue().Element.ObjectValue()["age.agekey"].StringValue())
	changes, _ := m.diff(given)
	require.Empty(t, changes)
	require.True(t, m.refresh())
	require.True(t, m.state["data"].IsSecret())
	require.True(t, m.inputs["data"].IsSecret())
	changes, _ = m.diff(given)
	require.Empty(t, changes, "after a refresh")

	rotated := object("v1", "Secret", map[string]any{"name": "key", "namespace": in}, map[string]any{
		"stringData": map[string]any{"age.agekey": resource.MakeSecret(resource.NewProperty("new"))},
	})
	changes, _ = m.diff(rotated)
	require.Equal(t, []string{`data["age.agekey"]: UPDATE`}, changes, "in place")
	require.NoError(t, m.update(rotated))
	require.True(t, m.state["data"].IsSecret())
}

// TestReplacements: a change of an immutable property replaces the object. If the name is not generated, the old object is deleted
// first.
func TestReplacements(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	named := map[string]any{"name": "key", "namespace": in}
	data := func(value string) map[string]any { return map[string]any{"data": map[string]any{"a": value}} }

	m := h.mustCreate(secret, "key", object("v1", "Secret", named, data("YQ==")))
	changes, first := m.diff(object("v1", "Secret", named, data("Yg==")))
	require.Equal(t, []string{"data.a: UPDATE_REPLACE"}, changes, "Secrets are immutable unless the provider is told otherwise")
	require.True(t, first)
	changes, first = m.diff(object("v1", "Secret", map[string]any{"name": "other", "namespace": in}, data("YQ==")))
	require.Equal(t, []string{"metadata.name: UPDATE_REPLACE"}, changes)
	require.False(t, first)

	m = h.mustCreate(configMap, "auto", object("v1", "ConfigMap", map[string]any{"namespace": in}, data("a")))
	changes, first = m.diff(object("v1", "ConfigMap", map[string]any{"namespace": in}, data("b")))
	require.Equal(t, []string{"data.a: UPDATE_REPLACE"}, changes)
	require.False(t, first, "the new one gets a new name")
}

func TestPreviews(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, map[string]any{"enableConfigMapMutable": true}), newNamespace(t)
	preview := func(given resource.PropertyMap) (resource.PropertyMap, error) {
		inputs := h.check(urn(configMap, "a"), given, nil)
		response, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
			Urn: urn(configMap, "a"), Properties: h.wire(inputs), Preview: true,
		})
		require.Empty(t, response.GetId())
		return h.read(response.GetProperties()), err
	}
	config := func(in string, more map[string]any) resource.PropertyMap {
		return object("v1", "ConfigMap", map[string]any{"name": "a", "namespace": in}, more)
	}
	state, err := preview(config(in, nil))
	require.NoError(t, err)
	require.Contains(t, state["metadata"].ObjectValue(), resource.PropertyKey("uid"), "the API server was asked")
	_, err = sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Get(t.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "nothing was made")

	for name, given := range map[string]resource.PropertyMap{
		"a namespace that is on the way": config("not-there-yet", nil),
		"a value that is not known": config(in, map[string]any{
			"data": map[string]any{"a": resource.MakeComputed(resource.NewProperty(""))},
		}),
	} {
		state, err := preview(given)
		require.NoError(t, err, name)
		require.NotContains(t, state["metadata"].ObjectValue(), resource.PropertyKey("uid"), name)
	}
	_, err = preview(config(in, map[string]any{"data": map[string]any{"not a key": "x"}}))
	require.ErrorContains(t, err, `data[not a key]: Invalid value: "not a key"`)
}

func TestImport(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	_, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "b"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	m := &made{h: h, urn: urn(configMap, "a"), id: in + "/a"}
	require.True(t, m.refresh())
	changes, _ := m.diff(object("v1", "ConfigMap", map[string]any{"name": "a", "namespace": in}, map[string]any{
		"data": map[string]any{"a": "b"},
	}))
	require.Empty(t, changes)
}
