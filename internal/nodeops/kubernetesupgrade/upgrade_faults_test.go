package kubernetesupgrade_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// patience is how long an upgrade in these tests waits for something that never happens. It is not meant for waits that succeed.
const patience = 10 * time.Second

// TestBadDaysOfAnUpgrade: each failure is one sentence with its cause, and the next upgrade goes on when the cause is gone.
func TestBadDaysOfAnUpgrade(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	hindered := &hindrance{}
	c := newCluster(t, "v1.13.9", "1.35.4", 3, 1, hindered)

	c.lacksAnImage(hindered)
	c.lacksANode()
	c.runs("v1.35.4")
	c.hasAnAPIServerThatEnds()
	c.hasAKubeletThatEnds(hindered)
	c.runs("v1.35.5")
	c.hasAPodThatStays()
	c.hasTwoOperators()
	c.runs("v1.35.7")
	c.hasADeadNodeOfNoMachine()
	c.losesAWorker()
	c.hasAMachineMadeAnew()
}

// hasADeadNodeOfNoMachine covers a Node whose worker has died and left the inventory. The pod of kube-proxy would never be replaced on it, nor on the
// nodes after it, so the upgrade does not begin.
func (c *cluster) hasADeadNodeOfNoMachine() {
	c.t.Helper()
	nodes := c.kubernetes().CoreV1().Nodes()
	dead := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-9"}}
	dead.Status.NodeInfo.KubeletVersion = "v1.35.7"
	dead.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	_, err := nodes.Create(c.t.Context(), dead, metav1.CreateOptions{})
	require.NoError(c.t, err)
	require.NoError(c.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controllers write to a new Node as well
		made, err := nodes.Get(c.t.Context(), "worker-9", metav1.GetOptions{})
		if err != nil {
			return err
		}
		made.Status = dead.Status
		_, err = nodes.UpdateStatus(c.t.Context(), made, metav1.UpdateOptions{})
		return err
	}))
	require.EqualError(c.t, c.hasty("v1.35.8").Run(c.t.Context()), "Kubernetes stays as it is: "+
		"neither Ready nor in the inventory: worker-9: the pods that Talos has on every node would never roll out there; delete that Node with `kubectl delete node worker-9`, then run up again")
	require.NoError(c.t, nodes.Delete(c.t.Context(), "worker-9", metav1.DeleteOptions{}))
	c.runs("v1.35.7")
}

// hasAMachineMadeAnew covers a machine that was deleted on the host and created again; the run that upgrades configures the new one afterwards. The
// Node and the etcd member of the former machine do not stop the upgrade.
func (c *cluster) hasAMachineMadeAnew() {
	c.t.Helper()
	const third = firstControlPlane + 2
	require.NoError(c.t, c.Fleet.Destroy(third))
	c.PowerOn(third, "control-3")
	require.ErrorContains(c.t, c.upgrade("v1.34.8").Run(c.t.Context()), "is a downgrade")
	_, err := c.kubernetes().CoreV1().Nodes().Get(c.t.Context(), "control-3", metav1.GetOptions{})
	require.NoError(c.t, err, "a refusal changes nothing")

	output := &lines{}
	upgrade := c.upgrade("v1.35.9")
	upgrade.Progress = output
	require.NoError(c.t, upgrade.Run(c.t.Context()))
	require.Contains(c.t, output.printed.String(), "control-3 waits for its configuration: what its former machine has left in the cluster is removed, and it starts with v1.35.9\n")
	_, err = c.kubernetes().CoreV1().Nodes().Get(c.t.Context(), "control-3", metav1.GetOptions{})
	require.True(c.t, apierrors.IsNotFound(err), "%v", err)
}

// losesAWorker: the run that upgrades replaces it at the same time.
func (c *cluster) losesAWorker() {
	c.t.Helper()
	output := &lines{}
	upgrade := c.upgrade("v1.35.8")
	upgrade.Progress = &trigger{also: output, text: "kubelet of worker-1: v1.35.7 → v1.35.8\n", then: func() {
		if c.Fleet.PowerOff(firstWorker) == nil {
			_ = c.kubernetes().CoreV1().Nodes().Delete(c.t.Context(), "worker-1", metav1.DeleteOptions{}) // what the upgrade says shows it
		}
	}}
	require.NoError(c.t, upgrade.Run(c.t.Context()))
	require.Contains(c.t, output.printed.String(), "worker-1 is no Node any more: it starts with v1.35.8 when it joins again\n")
}

// lacksAnImage: nothing is changed before every node has its images.
func (c *cluster) lacksAnImage(hindered *hindrance) {
	c.t.Helper()
	hindered.on(firstWorker, imagePull, noSuchImage)
	require.EqualError(c.t, c.upgrade("v1.35.5").Run(c.t.Context()), "Kubernetes stays as it is: "+
		"worker-1 cannot pull ghcr.io/siderolabs/kubelet:v1.35.5 (its Talos API: error pulling image: not found): "+
		"see that this version exists and that the node reaches the registry, then run up again")

	hindered.on(firstWorker, talos.StepImage, talos.Effect{Hang: true})
	slow := c.upgrade("v1.35.5")
	slow.Limits.Pull = patience
	require.EqualError(c.t, slow.Run(c.t.Context()), "Kubernetes stays as it is: "+
		"worker-1 has not pulled ghcr.io/siderolabs/kubelet:v1.35.5 after 10s: see how it reaches the registry, then run up again; what it has pulled stays there")
	hindered.end()
}

// lacksANode: an upgrade would leave it behind.
func (c *cluster) lacksANode() {
	c.t.Helper()
	const third = firstControlPlane + 2
	require.NoError(c.t, c.Fleet.PowerOff(third))
	require.Regexp(c.t, `^Kubernetes stays as it is: not every node can be upgraded: control-3 \(its Talos API.*\): `+
		`mend that, then run up again; a worker can leave nodes.yaml before, and the VM of a control plane can be deleted, which up makes anew$`, c.hasty("v1.35.5").Run(c.t.Context()).Error())
	c.PowerOn(third, "control-3")
	polltest.Succeeds(c.t, func() error {
		return nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes}.Serves(c.t.Context(), c.nodes[2])
	})
}

// hasAnAPIServerThatEnds as soon as it starts: the next one keeps its version.
func (c *cluster) hasAnAPIServerThatEnds() {
	c.t.Helper()
	const second = firstControlPlane + 1
	serves := func() error {
		return nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: c.nodes}.Serves(c.t.Context(), c.nodes[1])
	}
	c.patch(second, machinetype.TypeControlPlane, func(cfg *v1alpha1.Config) {
		cfg.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{"no-such-argument": "true"}
	})
	polltest.Until(c.t, func() bool { return serves() != nil && strings.HasPrefix(serves().Error(), "its Kubernetes API: ") }, "the API server of control-2 ends")
	ctx, end := context.WithCancel(c.t.Context())
	defer end()
	first := c.upgrade("v1.35.5") // for the node before it, which takes longer than a short patience on a busy machine
	first.Progress = &trigger{also: c.t.Output(), text: "kube-apiserver on control-2: v1.35.4 → v1.35.5\n", then: end}
	require.ErrorContains(c.t, first.Run(ctx), context.Canceled.Error())

	upgrade := c.upgrade("v1.35.5")
	upgrade.Limits.Component = patience
	require.EqualError(c.t, upgrade.Run(c.t.Context()), fmt.Sprintf("kube-apiserver v1.35.5 does not work on control-2 after 10s (its Kubernetes API: it does not answer): "+
		"talosctl -n %s logs -k kube-system/kube-apiserver says why; mend that, then run up again; no other node is touched until it works", c.Address(second)))
	c.patch(second, machinetype.TypeControlPlane)
	polltest.Succeeds(c.t, serves)
}

// hasAKubeletThatEnds: the others have their new version by then, since this one is the last. A run that is cancelled while it waits for the kubelet
// says so. When the kubelet runs the former version again, a run that has nothing else to upgrade waits for it only shortly.
func (c *cluster) hasAKubeletThatEnds(hindered *hindrance) {
	c.t.Helper()
	reached := hindered.on(firstWorker, talos.StepKubelet, talos.Effect{Hang: true, Retried: time.Second})
	ctx, end := context.WithCancel(c.t.Context())
	defer end()
	go func() {
		select {
		case <-reached:
			time.AfterFunc(time.Second, end) // the answer to its new configuration comes before that
		case <-ctx.Done():
		}
	}()
	require.EqualError(c.t, c.upgrade("v1.35.5").Run(ctx), "waiting for the kubelet of worker-1: context canceled")
	hindered.end()
	c.kubeletRuns("worker-1", "v1.35.5")
	require.NoError(c.t, c.upgrade("v1.35.5").Run(c.t.Context()))

	c.patch(firstWorker, machinetype.TypeWorker)
	c.kubeletRuns("worker-1", "v1.35.4")
	hindered.on(firstWorker, talos.StepKubelet, talos.Effect{Hang: true, Retried: time.Second})
	again := c.upgrade("v1.35.5")
	again.Limits.Component = patience
	require.EqualError(c.t, again.Run(c.t.Context()), fmt.Sprintf("the kubelet v1.35.5 of worker-1 does not work after 10s (its Node reports v1.35.4): "+
		"talosctl -n %s logs kubelet says why; mend that, then run up again; no other node is touched until it works", c.Address(firstWorker)))
	hindered.end()
	c.kubeletRuns("worker-1", "v1.35.5")
	require.NoError(c.t, c.upgrade("v1.35.5").Run(c.t.Context()))
}

// kubeletRuns waits until a Node is Ready with a version of its kubelet.
func (c *cluster) kubeletRuns(name, version string) {
	c.t.Helper()
	api := c.kubernetes()
	polltest.Until(c.t, func() bool {
		node, err := api.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
		return err == nil && node.Status.NodeInfo.KubeletVersion == version && kubernetesclient.IsReady(node)
	}, name+" is Ready with "+version)
}

// hasAPodThatStays keeps a former pod of kube-proxy with a finalizer, so its node gets no new pod. No kubelet is upgraded, not even by the next run,
// which finds nothing to change in kube-proxy.
func (c *cluster) hasAPodThatStays() {
	c.t.Helper()
	pods := c.kubernetes().CoreV1().Pods("kube-system")
	list, err := pods.List(c.t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy"})
	require.NoError(c.t, err)
	require.NotEmpty(c.t, list.Items)
	finalizers := func(text string) {
		c.t.Helper()
		_, err := pods.Patch(c.t.Context(), list.Items[0].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+text+`}}`), metav1.PatchOptions{})
		require.NoError(c.t, err)
	}
	finalizers(`["em-infra.example/held"]`)
	for _, limit := range []time.Duration{3 * patience, patience} { // the first one also changes the manifests, which a busy machine needs time for
		upgrade := c.upgrade("v1.35.6")
		upgrade.Limits.Manifests = limit
		require.EqualError(c.t, upgrade.Run(c.t.Context()), fmt.Sprintf("DaemonSet kube-system/kube-proxy has not rolled out after %s (not all of its new pods are available): "+
			"see with `kubectl get pods -n kube-system -o wide` what its pods lack, mend that, then run up again; it goes on from here", limit))
		nodes, err := c.kubernetes().CoreV1().Nodes().List(c.t.Context(), metav1.ListOptions{})
		require.NoError(c.t, err)
		for _, node := range nodes.Items {
			require.Equal(c.t, "v1.35.5", node.Status.NodeInfo.KubeletVersion, node.Name)
		}
	}
	finalizers("null")
}

// hasTwoOperators runs two upgrades at the same time. Each finds what the other has done.
func (c *cluster) hasTwoOperators() {
	c.t.Helper()
	failed := make([]error, 2)
	var both sync.WaitGroup
	for i := range failed {
		both.Go(func() { failed[i] = c.upgrade("v1.35.7").Run(c.t.Context()) })
	}
	both.Wait()
	require.NoError(c.t, failed[0])
	require.NoError(c.t, failed[1])
}
