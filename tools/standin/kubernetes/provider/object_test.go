package provider_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	require.Len(t, live.ManagedFields, 1, "the manager of the creation was taken over")
	require.Equal(t, m.state["__fieldManager"].StringValue(), live.ManagedFields[0].Manager)

	live.Data["a"] = "drift"
	_, err = sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Update(t.Context(), live, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.True(t, m.refresh())
	changes, _ = m.diff(next)
	require.Equal(t, []string{"data.a: UPDATE"}, changes)

	require.NoError(t, m.delete())
	require.False(t, m.refresh())
	require.NoError(t, m.delete(), "what is gone is gone")
}

// TestCheckFillsIn: a name that is made up stays, and the namespace is the provider's.
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

// TestSecretsStaySecret: in inputs, in the state, and where the API server moves them to.
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

// TestReplacements: what cannot change replaces; without a name that was made up, the old object goes first.
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

func TestAnObjectThatIsThere(t *testing.T) {
	t.Parallel()
	in := newNamespace(t)
	given := object("v1", "ConfigMap", map[string]any{"name": "a", "namespace": in}, map[string]any{
		"data": map[string]any{"a": "mine"},
	})
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": "theirs"}}
	_, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Create(t.Context(), theirs, metav1.CreateOptions{FieldManager: "they"})
	require.NoError(t, err)

	_, err = startOn(t, nil).create(configMap, "a", given)
	require.ErrorContains(t, err, `resource "`+urn(configMap, "a")+
		`" was not successfully created by the Kubernetes API server: configmaps "a" already exists`)
	_, err = startOn(t, map[string]any{"upsertExistingObjects": true}).create(configMap, "a", given)
	require.ErrorContains(t, err, "server-side apply field conflict detected, see ")
	require.ErrorContains(t, err, `Apply failed with 1 conflict: conflict with "they" using v1: .data.a`)
	m := startOn(t, map[string]any{"upsertExistingObjects": true, "enablePatchForce": true}).mustCreate(configMap, "a", given)
	require.Equal(t, "mine", m.state["data"].ObjectValue()["a"].StringValue())
}

// TestFieldThatSomebodyElseTook: an update says so, and takes it back on demand.
func TestFieldThatSomebodyElseTook(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, map[string]any{"enableConfigMapMutable": true}), newNamespace(t)
	config := func(value string, annotations map[string]any) resource.PropertyMap {
		return object("v1", "ConfigMap", map[string]any{"name": "a", "namespace": in, "annotations": annotations},
			map[string]any{"data": map[string]any{"a": value}})
	}
	m := h.mustCreate(configMap, "a", config("mine", map[string]any{}))
	_, err := sharedControlPlane(t).client.CoreV1().ConfigMaps(in).Patch(t.Context(), "a", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"theirs"}}`),
		metav1.PatchOptions{FieldManager: "they", Force: new(true)})
	require.NoError(t, err)

	require.ErrorContains(t, m.update(config("again mine", map[string]any{})), `conflict with "they"`)
	require.Equal(t, "theirs", m.state["data"].ObjectValue()["a"].StringValue(), "the state has what is there")
	forced := config("again mine", map[string]any{"pulumi.com/patchForce": "true"})
	require.NoError(t, m.update(forced))
	require.Equal(t, "again mine", m.state["data"].ObjectValue()["a"].StringValue())
}

func definition(group string) resource.PropertyMap {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", map[string]any{"name": "toys." + group}, map[string]any{
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "toys", "kind": "Toy"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x_kubernetes_preserve_unknown_fields": true,
				}},
			}},
		},
	})
}

// TestCustomResource comes before its definition and waits for it; it goes after it.
func TestCustomResource(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	group := in + ".example.org"
	crd := "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
	toy := object(group+"/v1", "Toy", map[string]any{"name": "ball", "namespace": in}, map[string]any{
		"spec": map[string]any{"size": 3, "weight": 0.5},
	})
	type result struct {
		made *made
		err  error
	}
	created := make(chan result)
	go func() {
		m, err := startOn(t, nil).create("kubernetes:"+group+"/v1:Toy", "ball", toy)
		created <- result{m, err}
	}()
	defined := h.mustCreate(crd, "toys", definition(group))
	changes, _ := defined.diff(definition(group))
	require.Empty(t, changes)
	got := <-created
	require.NoError(t, got.err)
	changes, _ = got.made.diff(toy)
	require.Empty(t, changes)
	bigger := object(group+"/v1", "Toy", map[string]any{"name": "ball", "namespace": in}, map[string]any{
		"spec": map[string]any{"size": 4, "weight": 0.5},
	})
	require.NoError(t, got.made.update(bigger))
	require.NoError(t, defined.delete())
	require.False(t, got.made.refresh())
	require.NoError(t, got.made.delete())
}

func TestKindThatIsNotDefined(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	given := object("nobody.example.org/v1", "Toy", map[string]any{"name": "ball"}, nil)
	inputs := h.check(urn("kubernetes:nobody.example.org/v1:Toy", "ball"), given, nil)
	require.Equal(t, "default", inputs["metadata"].ObjectValue()["namespace"].StringValue())
	preview, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn("kubernetes:nobody.example.org/v1:Toy", "ball"), Properties: h.wire(inputs), Preview: true,
	})
	require.NoError(t, err)
	require.Equal(t, inputs, h.read(preview.GetProperties()))
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

// TestObjectOfALostState: a state is gone and its object is not. What is the same is taken over; what differs is the
// earlier run's until it is forced.
func TestObjectOfALostState(t *testing.T) {
	t.Parallel()
	in := newNamespace(t)
	key := func(value string, annotations map[string]any) resource.PropertyMap {
		return object("v1", "Secret", map[string]any{"name": "key", "namespace": in, "annotations": annotations},
			map[string]any{"data": map[string]any{"a": value}})
	}
	startOn(t, nil).mustCreate(secret, "key", key("YQ==", map[string]any{}))
	upsert := map[string]any{"upsertExistingObjects": true, "enableSecretMutable": true}
	m := startOn(t, upsert).mustCreate(secret, "key", key("YQ==", map[string]any{}))
	require.Equal(t, in+"/key", m.id)

	_, err := startOn(t, upsert).create(secret, "key", key("Yg==", map[string]any{}))
	require.ErrorContains(t, err, `conflicts with "pulumi-kubernetes" using v1:`)
	startOn(t, upsert).mustCreate(secret, "key", key("Yg==", map[string]any{"pulumi.com/patchForce": "true"}))
}
