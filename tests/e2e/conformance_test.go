package e2e_test

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	taloscluster "github.com/siderolabs/talos/pkg/cluster"
	"github.com/siderolabs/talos/pkg/cluster/check"
	"github.com/siderolabs/talos/pkg/conditions"
	talosclient "github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/pve"
)

// rehearsedCluster is a cluster of the lab for third-party clients, through the stack's talosconfig and kubeconfig.
type rehearsedCluster struct {
	taloscluster.ClientProvider
	taloscluster.K8sProvider

	t          *testing.T
	inventory  *inventory.Inventory // on the lab's network
	kubeconfig string
	api        *kubernetes.Clientset
	host       pve.Connection
}

// k3s-dev with a second worker.
const secondWorker = "{name: k3s-dev-worker-2, role: worker, vmid: 104, address: 192.168.20.22}"

func (r *rehearsal) cluster(t *testing.T) *rehearsedCluster {
	t.Helper()
	talosconfig, err := clientconfig.Open(filepath.Join(r.dir(), "talosconfig"))
	require.NoError(t, err)
	api, err := talosclient.New(t.Context(), talosclient.WithConfig(talosconfig))
	require.NoError(t, err)
	provider := &taloscluster.ConfigClientProvider{DefaultClient: api, TalosConfig: talosconfig}
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	kubeconfig := filepath.Join(r.dir(), "kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	d, err := lab.ReadDescription(r.labDir())
	require.NoError(t, err)
	inv, err := inventory.Load(r.inventory)
	require.NoError(t, err)
	inv, err = inv.Rebase(d.Network)
	require.NoError(t, err)
	return &rehearsedCluster{
		ClientProvider: provider, K8sProvider: &taloscluster.KubernetesClient{ClientProvider: provider},
		t: t, inventory: inv, kubeconfig: kubeconfig, api: client,
		host: pve.Connection{Endpoint: d.ProxmoxEndpoint(), Token: d.Token, Insecure: true},
	}
}

// Nodes implements [check.ClusterInfo].
func (c *rehearsedCluster) Nodes() []taloscluster.NodeInfo {
	return append(c.NodesByType(machine.TypeControlPlane), c.NodesByType(machine.TypeWorker)...)
}

// NodesByType implements [check.ClusterInfo].
func (c *rehearsedCluster) NodesByType(kind machine.Type) []taloscluster.NodeInfo {
	if kind == machine.TypeInit {
		return nil
	}
	chosen := c.inventory.Nodes.Workers()
	if kind == machine.TypeControlPlane {
		chosen = c.inventory.Nodes.ControlPlanes()
	}
	nodes := make([]taloscluster.NodeInfo, len(chosen))
	for i, node := range chosen {
		nodes[i] = taloscluster.NodeInfo{InternalIP: node.Address, IPs: []netip.Addr{node.Address}}
	}
	return nodes
}

// firstFailure runs the checks of `talosctl health`, each once, and returns the message of the first that fails.
func (c *rehearsedCluster) firstFailure() string {
	c.t.Helper()
	for _, make := range check.DefaultClusterChecks() {
		condition := make(c)
		if err := tryOnce(c.t.Context(), condition); err != nil {
			return fmt.Sprint(condition)
		}
	}
	return ""
}

// tryOnce waits for a condition's first result, however long a busy machine takes, without its further attempts. Until then a
// condition describes itself with dots (pkg/conditions/poll.go).
func tryOnce(ctx context.Context, condition conditions.Condition) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	outcome := make(chan error, 1)
	go func() { outcome <- condition.Wait(ctx) }()
	for strings.HasSuffix(fmt.Sprint(condition), ": ...") {
		select {
		case err := <-outcome:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
	cancel()
	return <-outcome
}

// waitFailure waits until the first failing check returns the expected message, or until none fails for "".
func (c *rehearsedCluster) waitFailure(wanted string) {
	c.t.Helper()
	failure := ""
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		failure = c.firstFailure()
		if failure == wanted || wanted != "" && strings.HasPrefix(failure, wanted) {
			return
		}
	}
	c.t.Fatalf("the first failure is %q, not %q", failure, wanted)
}

func (c *rehearsedCluster) eventually(what string, holds func(context.Context) bool) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return holds(c.t.Context()) }, 3*time.Minute, 200*time.Millisecond, what)
}

func (c *rehearsedCluster) isReady(name string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		node, err := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionTrue
			}
		}
		return false
	}
}

// TestE2EOtherPeoplesClients: Talos' health checks, kubectl and client-go get the same results from the lab as from a real
// cluster.
func TestE2EOtherPeoplesClients(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-clients")
	r.addNode(secondWorker)
	r.mustRun(0, "up", "--lab", "--yes")
	c := r.cluster(t)
	c.waitFailure("")
	c.answersKubectl()
	c.runsAdvice()
	c.drainsWithinABudget()
	c.failsAtTheRightCheck()
	c.followsThePower()
	c.waitFailure("")
}

// drainsWithinABudget empties a node as `kubectl drain` does; the budget is kept.
func (c *rehearsedCluster) drainsWithinABudget() {
	c.t.Helper()
	ctx, labels, replicas := c.t.Context(), map[string]string{"app": "web"}, int32(2)
	_, err := c.api.AppsV1().Deployments("default").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{corev1.LabelHostname: "k3s-dev-worker-2"},
					Containers:   []corev1.Container{{Name: "web", Image: "example.org/web:1"}},
				},
			},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	budget := intstr.FromInt32(2)
	_, err = c.api.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &budget, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	c.eventually("both Pods are counted by their budget", func(ctx context.Context) bool {
		pdb, err := c.api.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && pdb.Status.CurrentHealthy == 2
	})

	output, err := c.kubectl("drain", "--ignore-daemonsets", "--timeout=8s", "k3s-dev-worker-2")
	require.Error(c.t, err)
	require.Contains(c.t, output, "violate the pod's disruption budget")
	require.Contains(c.t, output, "global timeout reached")
	require.Len(c.t, c.podsOn("k3s-dev-worker-2"), 2, "the budget allows no eviction")

	// Pods that can run elsewhere leave; those of a DaemonSet stay.
	patch := []byte(`{"spec":{"template":{"spec":{"nodeSelector":null}},"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":0}}}}`)
	_, err = c.api.AppsV1().Deployments("default").Patch(ctx, "web", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	require.NoError(c.t, err)
	c.eventually("the Pods stand on the other worker", func(context.Context) bool { return len(c.podsOn("k3s-dev-worker-1")) == 2 })
	c.mustKubectl("drain", "--ignore-daemonsets", "--timeout=3m", "k3s-dev-worker-2")
	require.Empty(c.t, c.podsOn("k3s-dev-worker-2"))
	c.mustKubectl("uncordon", "k3s-dev-worker-2")
}

// podsOn returns the Pods of the default namespace on a node that are not on their way out.
func (c *rehearsedCluster) podsOn(node string) []string {
	c.t.Helper()
	list, err := c.api.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	require.NoError(c.t, err)
	var names []string
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			names = append(names, pod.Name)
		}
	}
	return names
}

// failsAtTheRightCheck breaks the cluster in one way after the other.
func (c *rehearsedCluster) failsAtTheRightCheck() {
	c.t.Helper()
	ctx := c.t.Context()
	dns := c.api.AppsV1().Deployments("kube-system")
	for _, test := range []struct {
		name, failure string
		harm, mend    func() error
	}{
		{
			"a node that is cordoned", "all k8s nodes to report schedulable: some nodes are not schedulable: [k3s-dev-worker-1]",
			func() error { return c.cordon("k3s-dev-worker-1", true) }, func() error { return c.cordon("k3s-dev-worker-1", false) },
		},
		{
			"a CoreDNS of which one replica finds no node", "coredns to report ready: expected 2 ready pods, got 1",
			func() error {
				_, err := dns.Patch(ctx, "coredns", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"is":"nowhere"}}}}}`), metav1.PatchOptions{})
				return err
			},
			func() error {
				_, err := dns.Patch(ctx, "coredns", types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"nodeSelector":{"is":null}}}}}`), metav1.PatchOptions{})
				return err
			},
		},
		{
			"a control plane without its label", "all control plane components to be ready: ",
			func() error { return c.label("k3s-dev-control-1", "null") }, func() error { return c.label("k3s-dev-control-1", `""`) },
		},
	} {
		require.NoError(c.t, test.harm(), test.name)
		c.waitFailure(test.failure)
		require.NoError(c.t, test.mend(), test.name)
		c.waitFailure("")
	}
}

func (c *rehearsedCluster) cordon(node string, cordoned bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, cordoned)
	_, err := c.api.CoreV1().Nodes().Patch(c.t.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (c *rehearsedCluster) label(node, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":%s}}}`, value)
	_, err := c.api.CoreV1().Nodes().Patch(c.t.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// followsThePower cuts the power of a worker's VM on the host, and restores it.
func (c *rehearsedCluster) followsThePower() {
	c.t.Helper()
	client, err := c.host.Client()
	require.NoError(c.t, err)
	power := func(action string) {
		var task string
		require.NoError(c.t, client.Post(c.t.Context(), "/nodes/vmhost/qemu/104/status/"+action, nil, &task))
	}
	power("stop")
	c.eventually("the Node is not Ready", func(ctx context.Context) bool { return !c.isReady("k3s-dev-worker-2")(ctx) })
	require.True(c.t, c.isReady("k3s-dev-worker-1")(c.t.Context()))
	c.waitFailure("apid to be ready: ")
	power("start")
	c.eventually("the Node is Ready again", c.isReady("k3s-dev-worker-2"))
}
