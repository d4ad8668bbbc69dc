package kubernetes_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/kubeconfig"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// cluster is a running cluster with its administrator's client.
type cluster struct {
	*k8s.Clientset
	t testing.TB
}

// admin returns a client with a kubeconfig of Talos' own generator. at replaces the address of the endpoint.
func admin(t testing.TB, controlPlane talos.KubernetesNode, at ...netip.Addr) cluster {
	t.Helper()
	client, err := k8s.NewForConfig(adminConfig(t, controlPlane, at...))
	require.NoError(t, err)
	return cluster{client, t}
}

func adminConfig(t testing.TB, controlPlane talos.KubernetesNode, at ...netip.Addr) *rest.Config {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, kubeconfig.GenerateAdmin(controlPlane.Config.Cluster(), &text))
	config, err := clientcmd.RESTConfigFromKubeConfig(text.Bytes())
	require.NoError(t, err)
	if len(at) > 0 {
		config.Host = "https://" + netip.AddrPortFrom(at[0], 6443).String()
	}
	config.Timeout = 20 * time.Second // for a busy machine
	return config
}

func (c cluster) eventually(what string, is func(context.Context) bool) {
	c.t.Helper()
	polltest.Until(c.t, func() bool { return is(c.t.Context()) }, what)
}

func (c cluster) answers(context.Context) bool {
	_, err := c.Discovery().ServerVersion()
	return err == nil
}

// readiness returns the Ready condition of a Node; "" if there is none.
func (c cluster) readiness(ctx context.Context, name string) corev1.ConditionStatus {
	node, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return ""
}

func (c cluster) waitReadiness(name string, wanted corev1.ConditionStatus) {
	c.t.Helper()
	c.eventually(name+" becomes ready: "+string(wanted), func(ctx context.Context) bool { return c.readiness(ctx, name) == wanted })
}

func (c cluster) readyReplicas(ctx context.Context, namespace, name string) int32 {
	deployment, err := c.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return -1
	}
	return deployment.Status.ReadyReplicas
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "example.org/web:1"}}},
			},
		},
	}
}

// requireStartingEtcdAnswers checks an etcd that is still starting. The nodes' members run already, so a client of one waits for the
// etcd behind them. That etcd also gets an alarm that is raised before it runs.
func requireStartingEtcdAnswers(t *testing.T, clusters *kubernetes.Clusters, etcdCluster string) {
	t.Helper()
	require.NoError(t, clusters.SetEtcdAlarms(t.Context(), etcdCluster, []etcd.AlarmKind{etcd.NoSpace}))
	require.NoError(t, clusters.DefragmentEtcd(t.Context(), etcdCluster))
	alarms, err := clusters.EtcdAlarms(t.Context(), etcdCluster)
	require.NoError(t, err)
	require.Equal(t, []etcd.AlarmKind{etcd.NoSpace}, alarms)
	require.NoError(t, clusters.SetEtcdAlarms(t.Context(), etcdCluster, nil))
}

// TestLifeOfAControlPlane starts a real control plane from generated machine configurations, and stops it and its nodes.
func TestLifeOfAControlPlane(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, dir, programs := newSite(t, ourSecrets), t.TempDir(), kubernetestest.Tools(t)
	first, worker := s.node(101, machine.TypeControlPlane), s.node(111, machine.TypeWorker)
	clusters := kubernetestest.OpenClusters(t, dir, programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	began := time.Now()
	clusters.NodeChanged(worker)
	clusters.NodeChanged(first)
	requireStartingEtcdAnswers(t, clusters, first.EtcdCluster)
	c := admin(t, first)
	c.eventually("the API answers at its endpoint", c.answers)
	t.Logf("the API answered after %s", time.Since(began))
	c.waitReadiness("node-101", corev1.ConditionTrue)
	c.waitReadiness("node-111", corev1.ConditionTrue)
	t.Logf("the nodes were ready after %s", time.Since(began))
	require.True(t, admin(t, first, number(s.network, 11)).answers(t.Context()), "the API answers on the control plane")

	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.AppsV1().Deployments("web").Create(t.Context(), deployment("web", 3), metav1.CreateOptions{})
	require.NoError(t, err)
	c.eventually("the Pods run", func(ctx context.Context) bool { return c.readyReplicas(ctx, "web", "web") == 3 })
	t.Logf("the Pods ran after %s", time.Since(began))

	snapshot, err := clusters.EtcdSnapshot(t.Context(), first.EtcdCluster)
	require.NoError(t, err)
	text, err := io.ReadAll(snapshot)
	require.NoError(t, errors.Join(err, snapshot.Close()))
	require.Contains(t, string(text), "/registry/deployments/web/web", "what Kubernetes has written")

	write := func(name string) error {
		_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	for range 2 { // the second time it has the alarm already
		require.NoError(t, clusters.SetEtcdAlarms(t.Context(), first.EtcdCluster, []etcd.AlarmKind{etcd.NoSpace}))
		require.ErrorContains(t, write("full"), "etcdserver: mvcc: database space exceeded")
	}
	require.NoError(t, clusters.DefragmentEtcd(t.Context(), first.EtcdCluster))
	require.NoError(t, clusters.SetEtcdAlarms(t.Context(), first.EtcdCluster, nil))
	require.NoError(t, write("free"))

	off := worker
	off.Kubelet = false
	clusters.NodeChanged(off)
	c.waitReadiness("node-111", corev1.ConditionUnknown)
	c.eventually("its Pods are not ready", func(ctx context.Context) bool { return c.readyReplicas(ctx, "web", "web") == 0 })
	worker.BootID = "second-boot"
	clusters.NodeChanged(worker)
	c.waitReadiness("node-111", corev1.ConditionTrue)
	c.eventually("its Pods are ready again", func(ctx context.Context) bool { return c.readyReplicas(ctx, "web", "web") == 3 })

	require.NoError(t, c.CoreV1().Nodes().Delete(t.Context(), "node-111", metav1.DeleteOptions{}))
	clusters.NodeChanged(worker)
	worker.KubeletStarts++
	clusters.NodeChanged(worker)
	c.waitReadiness("node-111", corev1.ConditionTrue)

	require.NoError(t, c.CoreV1().Namespaces().Delete(t.Context(), "web", metav1.DeleteOptions{}))
	c.eventually("the namespace is gone", func(ctx context.Context) bool {
		_, err := c.CoreV1().Namespaces().Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}
