package kubernetes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
