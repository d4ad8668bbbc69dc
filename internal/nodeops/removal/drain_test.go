package removal_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/em-infra/em-infra/internal/nodeops/removal"
)

// cluster is one with a worker and these pods on it. Evictions are counted, and answered by allows.
func cluster(t *testing.T, allows func(pod string, tries int) error, pods ...*corev1.Pod) (api *fake.Clientset, tries map[string]int) {
	t.Helper()
	objects := []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	api, tries = fake.NewClientset(objects...), map[string]int{}
	api.PrependReactor("create", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		eviction := action.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
		tries[eviction.Name]++
		if err := allows(eviction.Name, tries[eviction.Name]); err != nil {
			return true, nil, err
		}
		return true, nil, api.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), eviction.Namespace, eviction.Name)
	})
	return api, tries
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: "worker-1"}}
	for _, c := range change {
		c(p)
	}
	return p
}

func always(string, int) error { return nil }

func heldBack(string, int) error {
	return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
}

func left(t *testing.T, api *fake.Clientset) []string {
	t.Helper()
	pods, err := api.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for _, p := range pods.Items {
		names = append(names, p.Name)
	}
	return names
}

func TestDrainMovesWhatHasToMove(t *testing.T) {
	t.Parallel()
	controller := true
	api, tries := cluster(t, always,
		pod("web"),
		pod("bare", func(p *corev1.Pod) { p.OwnerReferences = nil }),
		pod("agent", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: &controller}}
		}),
		pod("static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("job-done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
	)
	var said strings.Builder
	require.NoError(t, removal.Drain(removal.Worker{Name: "worker-1", DrainTimeout: time.Minute, Progress: &said}, t.Context(), api))

	require.Equal(t, map[string]int{"web": 1, "bare": 1}, tries)
	require.ElementsMatch(t, []string{"agent", "static", "job-done"}, left(t, api))
	require.Equal(t, "worker-1 is drained\n", said.String())
	node, err := api.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, node.Spec.Unschedulable)
}

func TestDrainWaitsForPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api, tries := cluster(t, func(pod string, tries int) error {
			if pod == "web-1" && tries < 5 {
				return heldBack(pod, tries)
			}
			return nil
		}, pod("web-0"), pod("web-1"))
		require.NoError(t, removal.Drain(removal.Worker{Name: "worker-1", DrainTimeout: time.Minute, Progress: &strings.Builder{}}, t.Context(), api))
		require.Equal(t, map[string]int{"web-0": 1, "web-1": 5}, tries)
	})
}

func TestF32ADrainThatIsHeldBackEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api, _ := cluster(t, heldBack, pod("web-0"), pod("web-1"))
		err := removal.Drain(removal.Worker{Name: "worker-1", DrainTimeout: 10 * time.Minute, Progress: &strings.Builder{}}, t.Context(), api)
		require.EqualError(t, err, "worker-1 is not drained after 10m0s, because PodDisruptionBudgets hold pods back (shop/web-0, shop/web-1): "+
			"let them move, e.g. with one replica more, then run up again; or set EM_INFRA_DELETE_HELD_BACK_PODS=yes for that run, and they are deleted")
		require.Len(t, left(t, api), 2)
	})
}

func TestPodsThatDoNotEndAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := metav1.Now()
		ending := func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &now, []string{"shop/keep"} }
		api, tries := cluster(t, always, pod("a", ending), pod("b", ending), pod("c", ending), pod("d", ending), pod("e", ending), pod("f", ending))
		err := removal.Drain(removal.Worker{Name: "worker-1", DrainTimeout: time.Minute, Progress: &strings.Builder{}}, t.Context(), api)
		require.ErrorContains(t, err, "because pods do not end (shop/a, shop/b, shop/c, shop/d, shop/e, and 1 more): ")
		require.Empty(t, tries, "they are on their way already")
	})
}

func TestHeldBackPodsAreDeletedOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api, _ := cluster(t, heldBack, pod("web-0"), pod("web-1"))
		var said strings.Builder
		worker := removal.Worker{Name: "worker-1", DrainTimeout: time.Minute, DeleteHeldBack: true, Progress: &said}
		require.NoError(t, removal.Drain(worker, t.Context(), api))
		require.Empty(t, left(t, api))
		require.Equal(t, "warning: worker-1 is not drained after 1m0s: deleted shop/web-0, shop/web-1\n", said.String())
	})
}

func TestAWorkerThatIsNoNodeYetIsDrained(t *testing.T) {
	t.Parallel()
	api := fake.NewClientset()
	require.NoError(t, removal.Drain(removal.Worker{Name: "worker-1", Progress: &strings.Builder{}}, t.Context(), api))
}
