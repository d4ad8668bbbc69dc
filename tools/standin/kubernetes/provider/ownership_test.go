package provider_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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

// TestFieldOfAnotherManager: if another manager has taken a field, an update fails with a conflict. With patchForce it takes
// the field back.
func TestFieldOfAnotherManager(t *testing.T) {
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
	require.Equal(t, "theirs", m.state["data"].ObjectValue()["a"].StringValue(), "the state has the live value")
	forced := config("again mine", map[string]any{"pulumi.com/patchForce": "true"})
	require.NoError(t, m.update(forced))
	require.Equal(t, "again mine", m.state["data"].ObjectValue()["a"].StringValue())
}

// TestObjectOfALostState: the state is lost, but its object exists. Fields with the same value are taken over. Fields with another
// value belong to the earlier run until they are forced.
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
