package kubernetes_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
)

// TestANodeThatIsDeletedAtOnceStaysDeleted: its Node is deleted before the kubelet has reported its status for the first time.
func TestANodeThatIsDeletedAtOnceStaysDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	node, api := s.node(101, machine.TypeControlPlane), fake.NewClientset()
	api.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("nodes"), "", node.Hostname)
	})
	require.NoError(t, kubernetes.Register(t.Context(), node, api, func(err error) { t.Error(err) }))
	_, err := api.CoreV1().Nodes().Get(t.Context(), node.Hostname, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), err)
}

// TestTheFirstReportIsRepeated: the first report is in conflict with a change by another client.
func TestTheFirstReportIsRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	node := s.node(101, machine.TypeControlPlane)
	lost := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Hostname}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}},
	}}
	api, refused := fake.NewClientset(lost), false
	api.PrependReactor("update", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if refused || action.GetSubresource() != "status" {
			return false, nil, nil
		}
		refused = true
		return true, nil, apierrors.NewConflict(corev1.Resource("nodes"), node.Hostname, errors.New("it was changed"))
	})
	var reported []string
	require.NoError(t, kubernetes.Register(t.Context(), node, api, func(err error) { reported = append(reported, err.Error()) }))
	require.Equal(t, []string{`update the Node's status: Operation cannot be fulfilled on nodes "` + node.Hostname + `": it was changed`}, reported)
	got, err := api.CoreV1().Nodes().Get(t.Context(), node.Hostname, metav1.GetOptions{})
	require.NoError(t, err)
	ready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	require.True(t, slices.ContainsFunc(got.Status.Conditions, ready), got.Status.Conditions)
}
