package e2e_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/stacks"
)

// TestE2EKubernetesUpgrade moves three control planes and two workers to other releases of Kubernetes: by a run that is killed when
// the first API server is upgraded, by one that ends it, and by a plain Pulumi.
func TestE2EKubernetesUpgrade(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, five)
	kept := r.writesObject("before-v1-35-5")

	r.edit("cluster.yaml", "version: v1.35.4", "version: v1.35.5")
	r.mustRun(2, "preview", "--lab")
	kill := r.startToKill("up", "--lab", "--yes")
	r.eventually("the first API server is upgraded", func() bool { return slices.Contains(r.images("kube-apiserver"), "v1.35.5") })
	kill()
	require.Equal(t, slices.Repeat([]string{"v1.35.4"}, 5), r.kubelets(), "kubelets are last")

	r.mustRun(0, "up", "--lab", "--yes")
	r.runsKubernetes("v1.35.5")
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")

	r.edit("cluster.yaml", "version: v1.35.5", "version: v1.35.6")
	stack := r.plainEngineWith(stacks.Options{})
	began := time.Now()
	_, err := stack.Up(t.Context(), optup.ProgressStreams(io.Discard))
	require.NoError(t, err)
	r.etcdWasSnapshotted(began, "v1.35.5", 5)
	r.snapshotsByHand()
	r.runsKubernetes("v1.35.6")
	r.nodesAreReady(fiveNodes...)
	r.mustRun(0, "preview", "--lab")
	kept()
}

// writesObject writes an object into Kubernetes, and so into etcd. kept requires that it is still there, as it was.
func (r *rehearsal) writesObject(name string) (kept func()) {
	r.t.Helper()
	written, err := r.kubernetes().CoreV1().ConfigMaps("default").Create(r.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"written": name},
	}, metav1.CreateOptions{})
	require.NoError(r.t, err)
	return func() {
		r.t.Helper()
		now, err := r.kubernetes().CoreV1().ConfigMaps("default").Get(r.t.Context(), name, metav1.GetOptions{})
		require.NoError(r.t, err)
		require.Equal(r.t, written.UID, now.UID)
		require.Equal(r.t, written.Data, now.Data)
	}
}

// runsKubernetes requires that every component of every node runs a version.
func (r *rehearsal) runsKubernetes(version string) {
	r.t.Helper()
	for _, id := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		require.Equal(r.t, slices.Repeat([]string{version}, 3), r.images(id), id)
	}
	require.Equal(r.t, slices.Repeat([]string{version}, 5), r.kubelets())
	proxy, err := r.kubernetes().AppsV1().DaemonSets("kube-system").Get(r.t.Context(), "kube-proxy", metav1.GetOptions{})
	require.NoError(r.t, err)
	require.Equal(r.t, "registry.k8s.io/kube-proxy:"+version, proxy.Spec.Template.Spec.Containers[0].Image)
}

// images returns the versions of a static pod on the control planes.
func (r *rehearsal) images(id string) []string {
	r.t.Helper()
	pods, err := r.kubernetes().CoreV1().Pods("kube-system").List(r.t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=" + id})
	require.NoError(r.t, err)
	var found []string
	for _, pod := range pods.Items {
		found = append(found, pod.Spec.Containers[0].Image[len("registry.k8s.io/"+id+":"):])
	}
	return found
}

// kubelets returns the versions of the Nodes.
func (r *rehearsal) kubelets() []string {
	r.t.Helper()
	nodes, err := r.kubernetes().CoreV1().Nodes().List(r.t.Context(), metav1.ListOptions{})
	require.NoError(r.t, err)
	var found []string
	for _, node := range nodes.Items {
		found = append(found, node.Status.NodeInfo.KubeletVersion)
	}
	return found
}
