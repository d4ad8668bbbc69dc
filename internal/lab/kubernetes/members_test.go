package kubernetes_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// stopped returns a node whose machine is off.
func stopped(node talos.KubernetesNode) talos.KubernetesNode {
	node.Kubelet, node.EtcdCluster = false, ""
	return node
}

// TestControlPlanesThatComeAndGo: the API answers on each running control plane, and on the shared address while any runs.
func TestControlPlanesThatComeAndGo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, dir, programs := newSite(t, ourSecrets), t.TempDir(), kubernetestest.Tools(t)
	one, two := s.node(101, machine.TypeControlPlane), s.node(102, machine.TypeControlPlane)
	one.StaticPods, two.StaticPods = versions("1"), versions("1")
	clusters := kubernetestest.OpenClusters(t, dir, programs)
	shared, first, second := admin(t, one), admin(t, one, number(s.network, 11)), admin(t, one, number(s.network, 12))
	silent := func(c cluster) func(context.Context) bool {
		return func(ctx context.Context) bool { return !c.answers(ctx) }
	}

	runs := func(name, version string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			pod, err := first.CoreV1().Pods("kube-system").Get(ctx, name, metav1.GetOptions{})
			return err == nil && pod.Annotations[constants.AnnotationStaticPodConfigVersion] == version && ready(pod)
		}
	}

	clusters.NodeChanged(one)
	shared.eventually("the first control plane answers", first.answers)
	require.False(t, second.answers(t.Context()))
	clusters.NodeChanged(two)
	second.eventually("the second does, under its own name", second.answers)
	first.eventually("its static pods run", runs("kube-apiserver-node-102", "1"))

	bad := two
	bad.Config = s.config(machine.TypeControlPlane, func(c *v1alpha1.Config) {
		c.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{"no-such-argument": "true"}
	})
	bad.StaticPods = versions("2")
	clusters.NodeChanged(bad)
	second.eventually("its API server does not come up again", silent(second))
	first.eventually("its static pod ends again and again", func(ctx context.Context) bool {
		pod, err := first.CoreV1().Pods("kube-system").Get(ctx, "kube-apiserver-node-102", metav1.GetOptions{})
		return err == nil && pod.Annotations[constants.AnnotationStaticPodConfigVersion] == "2" && crashes(pod)
	})
	first.eventually("KWOK, which looks at one after the other, runs a pod that came later", func(ctx context.Context) bool {
		later := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "later", Namespace: "kube-system"},
			Spec:       corev1.PodSpec{NodeName: "node-102", Containers: []corev1.Container{{Name: "later", Image: "later"}}},
		}
		_, err := first.CoreV1().Pods(later.Namespace).Create(ctx, later, metav1.CreateOptions{})
		if err != nil && !errors.IsAlreadyExists(err) {
			return false // its service account does not exist yet
		}
		pod, err := first.CoreV1().Pods(later.Namespace).Get(ctx, later.Name, metav1.GetOptions{})
		return err == nil && ready(pod)
	})
	pod, err := first.CoreV1().Pods("kube-system").Get(t.Context(), "kube-apiserver-node-102", metav1.GetOptions{})
	require.NoError(t, err)
	require.True(t, crashes(pod) && !ready(pod), "it goes on so: %+v", pod.Status)
	require.True(t, first.answers(t.Context()), "the other one runs")
	require.True(t, shared.answers(t.Context()))
	two.StaticPods = versions("3")
	clusters.NodeChanged(two)
	second.eventually("it is mended", second.answers)
	first.eventually("and its static pod runs", runs("kube-apiserver-node-102", "3"))
	clusters.NodeChanged(stopped(one))
	first.eventually("the first is silent", silent(first))
	require.True(t, shared.answers(t.Context()))
	_, err = shared.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	clusters.NodeChanged(stopped(two))
	shared.eventually("all are silent", silent(shared))
	require.False(t, second.answers(t.Context()))
	clusters.NodeChanged(one)
	shared.eventually("it is back", shared.answers)
	require.NoError(t, clusters.Close())
	require.False(t, shared.answers(t.Context()), "the end of the lab")

	clusters = kubernetestest.OpenClusters(t, dir, programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	free := occupy(t, netip.AddrPortFrom(number(s.network, 11), 6443))
	clusters.NodeChanged(one)
	shared.eventually("it is back with the lab, on the address that is free", shared.answers)
	free()
	first.eventually("and on the one that another process held", first.answers)
	_, err = shared.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)

	clusters.NodeChanged(stopped(one))
	clusters.ClusterGone(etcdCluster)
	shared.eventually("nothing is left of it", func(context.Context) bool {
		_, err := os.Stat(filepath.Join(dir, etcdCluster))
		return os.IsNotExist(err)
	})
}

// occupy listens on an address until the returned function is called.
func occupy(t *testing.T, address netip.AddrPort) (free func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address.String())
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return func() { require.NoError(t, listener.Close()) }
}

// versions returns the versions of static pods with the same number of changes.
func versions(version string) talos.StaticPodVersions {
	return talos.StaticPodVersions{
		Config:  map[string]string{"kube-apiserver": version, "kube-controller-manager": version, "kube-scheduler": version},
		Secrets: "1",
	}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func crashes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff"
	})
}

// TestFiftyNodes checks that the memory of a large cluster fits on a small machine, and that workers have only the
// permissions of a kubelet.
func TestFiftyNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, programs := newSite(t, ourSecrets), kubernetestest.Tools(t)
	clusters := kubernetestest.OpenClusters(t, t.TempDir(), programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	began := time.Now()
	for vmid := 101; vmid < 104; vmid++ {
		clusters.NodeChanged(s.node(vmid, machine.TypeControlPlane))
	}
	for vmid := 111; vmid < 158; vmid++ {
		clusters.NodeChanged(s.node(vmid, machine.TypeWorker, func(c *v1alpha1.Config) {
			c.MachineConfig.MachineNodeLabels = map[string]string{"rack": "a1"}
			if vmid == 111 { // which no kubelet may set (NodeRestriction)
				c.MachineConfig.MachineNodeLabels = map[string]string{"node-role.kubernetes.io/worker": ""}
			}
		}))
	}
	c := admin(t, s.node(101, machine.TypeControlPlane))
	c.eventually("fifty nodes are ready and labelled", func(ctx context.Context) bool { return c.countReady(ctx) == 50 && c.labelled(ctx) == 46 })
	t.Logf("fifty nodes were ready after %s", time.Since(began))
	renewed := c.renewals(t.Context())
	c.eventually("each has gone on with its lease", func(ctx context.Context) bool {
		for node, at := range c.renewals(ctx) {
			if !at.After(renewed[node]) {
				return false
			}
		}
		return true
	})
	c.eventually("all are Ready", func(ctx context.Context) bool { return c.countReady(ctx) == 50 })
	node, err := c.CoreV1().Nodes().Get(t.Context(), "node-111", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, node.Labels, "node-role.kubernetes.io/worker")

	resident := residentMemory(t, programs)
	t.Logf("resident: %d MiB", resident>>20)
	require.Less(t, resident, int64(4<<30))

	began = time.Now()
	require.NoError(t, clusters.Close())
	t.Logf("all processes had ended after %s", time.Since(began))
	require.Less(t, time.Since(began), 5*time.Minute, "a lab that is stopped waits for nobody")
}

// renewals returns when the kubelets last renewed their leases.
func (c cluster) renewals(ctx context.Context) map[string]time.Time {
	leases, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
	require.NoError(c.t, err)
	require.Len(c.t, leases.Items, 50)
	renewed := map[string]time.Time{}
	for _, lease := range leases.Items {
		renewed[lease.Name] = lease.Spec.RenewTime.Time
	}
	return renewed
}

func (c cluster) countReady(ctx context.Context) int {
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0
	}
	ready := 0
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return ready
}

func (c cluster) labelled(ctx context.Context) int {
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "rack=a1"})
	if err != nil {
		return 0
	}
	return len(nodes.Items)
}

// residentMemory returns the memory of this program and of the processes that it started, in bytes.
func residentMemory(t *testing.T, programs kubernetes.Tools) int64 {
	t.Helper()
	self := strconv.Itoa(os.Getpid())
	processes, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	var total int64
	counted := 0
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		field := func(name string) string {
			_, rest, _ := strings.Cut(string(text), "\n"+name+":")
			value, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(value)
		}
		if field("PPid") != self && field("Pid") != self {
			continue
		}
		if field("VmRSS") == "" {
			continue // a zombie: it has ended, and is not waited for yet
		}
		var kibibytes int64
		_, err = fmt.Sscanf(field("VmRSS"), "%d kB", &kibibytes)
		require.NoError(t, err)
		total += kibibytes << 10
		counted++
	}
	require.GreaterOrEqual(t, counted, 6, "etcd, three components, KWOK and this program; %v", programs)
	return total
}
