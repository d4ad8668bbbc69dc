package provider_test

import (
	"context"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const pod = "kubernetes:core/v1:Pod"

func podInputs(in, name string, annotations map[string]any) resource.PropertyMap {
	return object("v1", "Pod", map[string]any{"name": name, "namespace": in, "annotations": annotations}, map[string]any{
		"spec": map[string]any{
			"automountServiceAccountToken": false,
			"containers":                   []any{map[string]any{"name": "main", "image": "registry.k8s.io/pause:3.10"}},
		},
	})
}

// play acts as a kubelet for one Pod: it waits until the Pod exists and gives it a status.
func play(ctx context.Context, t *testing.T, in, name string, status corev1.PodStatus) {
	pods := sharedControlPlane(t).client.CoreV1().Pods(in)
	for ctx.Err() == nil {
		found, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			found.Status = status
			if _, err = pods.UpdateStatus(ctx, found, metav1.UpdateOptions{}); err == nil {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

var ready = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
	{Type: corev1.PodReady, Status: corev1.ConditionTrue},
}}

// awaitServiceAccount waits for the service account of a namespace. Without it, Pods are refused.
func awaitServiceAccount(t *testing.T, in string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := sharedControlPlane(t).client.CoreV1().ServiceAccounts(in).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, patience*time.Second, 50*time.Millisecond)
}

func TestPodIsWaitedFor(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	awaitServiceAccount(t, in)
	go play(t.Context(), t, in, "smoke", ready)
	m := h.mustCreate(pod, "smoke", podInputs(in, "smoke", map[string]any{}))
	require.Equal(t, "Running", m.state["status"].ObjectValue()["phase"].StringValue())
	changes, _ := m.diff(podInputs(in, "smoke", map[string]any{}))
	require.Empty(t, changes)
}

// TestPodThatIsNotReady: the Pod is in the state all the same, so that the next run continues with it. With skipAwait its state
// does not matter.
func TestPodThatIsNotReady(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	awaitServiceAccount(t, in)
	inputs := h.check(urn(pod, "slow"), podInputs(in, "slow", map[string]any{"pulumi.com/timeoutSeconds": "1"}), nil)
	_, err := h.Create(t.Context(), &pulumirpc.CreateRequest{Urn: urn(pod, "slow"), Properties: h.wire(inputs)})
	require.ErrorContains(t, err, `resource "`+urn(pod, "slow")+`" was successfully created, but the Kubernetes API server `+
		`reported that it failed to fully initialize or become live: 'slow' timed out waiting to be Ready`)
	id, state := h.partial(err)
	require.Equal(t, in+"/slow", id)
	require.Equal(t, "Pending", state["status"].ObjectValue()["phase"].StringValue())

	skipped := h.mustCreate(pod, "skipped", podInputs(in, "skipped", map[string]any{"pulumi.com/skipAwait": "true"}))
	require.True(t, skipped.refresh())
	require.NoError(t, skipped.delete())
}

// TestDaemonSetIsWaitedFor: a DaemonSet that no node needs is ready as soon as its controller reports so.
func TestDaemonSetIsWaitedFor(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	labels := map[string]any{"app": "plugin"}
	given := object("apps/v1", "DaemonSet", map[string]any{"name": "plugin", "namespace": in}, map[string]any{
		"spec": map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "plugin", "resources": map[string]any{"limits": map[string]any{"cpu": "1000m"}}}}},
		}},
	})
	m := h.mustCreate("kubernetes:apps/v1:DaemonSet", "plugin", given)
	require.Equal(t, 1.0, m.state["status"].ObjectValue()["observedGeneration"].NumberValue(), "its controller has seen it")
	changes, _ := m.diff(given)
	require.Empty(t, changes, "1000m equals 1")
	require.NoError(t, m.delete())
}

// TestWaitFor: an annotation names the condition to wait for, even for a kind that is ready at once.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	config := func(name, waitFor string) (*made, error) {
		return h.create(configMap, name, object("v1", "ConfigMap", map[string]any{
			"name": name, "namespace": in,
			"annotations": map[string]any{"pulumi.com/waitFor": waitFor},
		}, map[string]any{"data": map[string]any{"a": "b"}}))
	}
	_, err := config("there", `["jsonpath={.data.a}", "jsonpath={.data.a}=b"]`)
	require.NoError(t, err)
	_, err = config("nonsense", "a=b")
	require.ErrorContains(t, err, `expected a "jsonpath=" or "condition=" prefix, got "a=b"`)
}

// TestDeleteWaits: a deletion waits until the object's finalizer is removed.
func TestDeleteWaits(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	maps := sharedControlPlane(t).client.CoreV1().ConfigMaps(in)
	m := h.mustCreate(configMap, "kept", object("v1", "ConfigMap", map[string]any{
		"name": "kept", "namespace": in, "finalizers": []any{"example.org/keep"},
	}, nil))
	request := &pulumirpc.DeleteRequest{Urn: m.urn, Id: m.id, Properties: h.wire(m.state)}
	deleted := make(chan error, 1)
	go func() {
		_, err := h.Delete(t.Context(), request)
		deleted <- err
	}()
	require.Eventually(t, func() bool {
		found, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
		return err == nil && found.DeletionTimestamp != nil
	}, patience*time.Second, 50*time.Millisecond)
	_, err := maps.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, <-deleted)
	_, err = maps.Get(t.Context(), "kept", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// TestNamespaceGoesWithAllInIt: a namespace is deleted with all its objects, by its controller.
func TestNamespaceGoesWithAllInIt(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	m := h.mustCreate(namespace, "going", object("v1", "Namespace", map[string]any{}, nil))
	h.mustCreate(configMap, "a", object("v1", "ConfigMap", map[string]any{"name": "a", "namespace": m.id}, nil))
	require.NoError(t, m.delete())
	require.False(t, m.refresh())
}

func TestCancelEndsTheWaiting(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	awaitServiceAccount(t, in)
	inputs := h.check(urn(pod, "endless"), podInputs(in, "endless", map[string]any{}), nil)
	request := &pulumirpc.CreateRequest{Urn: urn(pod, "endless"), Properties: h.wire(inputs)}
	failed := make(chan error, 1)
	go func() {
		_, err := h.Create(t.Context(), request)
		failed <- err
	}()
	require.Eventually(t, func() bool {
		_, err := sharedControlPlane(t).client.CoreV1().Pods(in).Get(t.Context(), "endless", metav1.GetOptions{})
		return err == nil
	}, patience*time.Second, 50*time.Millisecond)
	_, err := h.Cancel(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorContains(t, <-failed, `Resource operation was cancelled for "endless"`)
}
