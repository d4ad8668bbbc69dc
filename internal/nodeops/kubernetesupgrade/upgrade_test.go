package kubernetesupgrade_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestLifeOfACluster takes a cluster through its upgrades: a refusal changes nothing, the next upgrade completes one that was ended after any of its
// steps, and in the end everything runs the new version with the data from before.
func TestLifeOfACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	c := newCluster(t, "v1.13.9", "1.35.4", 3, 2, nil)
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary", Namespace: "default"}, Data: map[string]string{"sings": "yes"}}
	_, err := c.kubernetes().CoreV1().ConfigMaps("default").Create(t.Context(), canary, metav1.CreateOptions{})
	require.NoError(t, err)

	c.refuses()
	c.upgradesInOrder()
	c.goesOnAfterEachStep()

	kept, err := c.kubernetes().CoreV1().ConfigMaps("default").Get(t.Context(), "canary", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, canary.Data, kept.Data)
	c.needsNoAPIWhereNothingIsToBeDone()
}

// needsNoAPIWhereNothingIsToBeDone checks an upgrade with nothing to do, which must not need the API. Otherwise, after a killed run, the next run
// could not repair a configuration that stops the API servers.
func (c *cluster) needsNoAPIWhereNothingIsToBeDone() {
	t := c.t
	t.Helper()
	for i := range 3 {
		c.patch(firstControlPlane+i, machinetype.TypeControlPlane, func(cfg *v1alpha1.Config) {
			cfg.ClusterConfig.APIServerConfig.ExtraArgsConfig = map[string]string{"no-such-argument": "true"}
		})
	}
	for i := range 2 {
		c.patch(firstWorker+i, machinetype.TypeWorker)
	}
	polltest.Until(t, func() bool {
		_, err := c.kubernetes().Discovery().ServerVersion()
		return err != nil
	}, "the API stops")
	output := &lines{}
	upgrade := c.upgrade("v1.35.4") // that of the configurations
	upgrade.Progress, upgrade.Limits.API = output, time.Second
	require.NoError(t, upgrade.Run(t.Context()))
	require.Contains(t, output.printed.String(), "Kubernetes v1.35.4 is in the configuration of every node that answers; its API does not answer, and is not waited for\n")

	another := c.upgrade("v1.35.5")
	another.Limits.API = time.Second
	require.ErrorContains(t, another.Run(t.Context()), "does not answer", "there it is needed")
}

// refuses: each refusal is one sentence, and the cluster is as before.
func (c *cluster) refuses() {
	t := c.t
	t.Helper()
	require.EqualError(t, c.upgrade("v1.34.8").Run(t.Context()), "Kubernetes stays as it is: "+
		"Kubernetes v1.35.4 → v1.34.8 is a downgrade (kube-apiserver on control-1, kube-apiserver on control-2, kube-apiserver on control-3, "+
		"kube-controller-manager on control-1, kube-controller-manager on control-2, kube-controller-manager on control-3, "+
		"kube-scheduler on control-1, kube-scheduler on control-2, kube-scheduler on control-3, "+
		"the kubelet of control-1, the kubelet of control-2, the kubelet of control-3, the kubelet of worker-1, the kubelet of worker-2 run v1.35.4): "+
		"set kubernetes.version to v1.35.4 or later")

	strangers := c.upgrade("v1.35.5")
	strangers.Nodes = []rolling.Node{{Name: "control-9", Address: c.nodes[0].Address, ControlPlane: true}}
	require.EqualError(t, strangers.Run(t.Context()), "Kubernetes stays as it is: "+
		"no node of the inventory is a Node of this cluster: see with `kubectl get nodes` whose cluster answers at these addresses")

	fewer := c.upgrade("v1.35.5")
	fewer.Nodes = c.nodes[:2]
	require.EqualError(t, fewer.Run(t.Context()), "Kubernetes stays as it is: "+
		"the control plane control-3 is not in the inventory and would keep v1.35.4: add it to nodes.yaml, or remove it from the cluster, then run up again")

	moved := c.hasty("v1.35.5")
	moved.Nodes = append(append([]rolling.Node{}, c.nodes[:4]...), rolling.Node{Name: "worker-2", Address: c.Address(250)})
	require.Regexp(t, "^Kubernetes stays as it is: "+
		`not every node can be upgraded: worker-2 \(its Talos API.*\): mend that, then run up again; a worker can leave nodes.yaml before, and the VM of a control plane can be deleted, which up makes anew$`, moved.Run(t.Context()).Error())

	c.patch(firstControlPlane, machinetype.TypeControlPlane, func(cfg *v1alpha1.Config) {
		cfg.ClusterConfig.SchedulerConfig.ExtraArgsConfig = map[string]string{"feature-gates": "MemoryManager=true"}
	})
	c.patch(firstWorker, machinetype.TypeWorker, func(cfg *v1alpha1.Config) {
		cfg.MachineConfig.MachineKubelet.KubeletExtraConfig = v1alpha1.Unstructured{Object: map[string]any{"featureGates": map[string]any{"TopologyAwareHints": true}}}
	})
	removed := "Kubernetes stays as it is: " +
		"kube-scheduler on control-1 is started with the feature gate MemoryManager, which v1.36 does not know: take it out of the patches of the inventory, run up, then upgrade\n" +
		"kubelet on worker-1 is started with the feature gate TopologyAwareHints, which v1.36 does not know: take it out of the patches of the inventory, run up, then upgrade"
	require.EqualError(t, c.upgrade("v1.36.2").Run(t.Context()), removed)
	c.waitsForANodeThatIsNotReady(removed)
	c.patch(firstControlPlane, machinetype.TypeControlPlane)
	c.patch(firstWorker, machinetype.TypeWorker)

	c.runs("v1.35.4")
}

// waitsForANodeThatIsNotReady checks that an upgrade waits for a node that is not Ready, as after a power cut, and goes on to the next check when it
// is. At the limit, the error names the node.
func (c *cluster) waitsForANodeThatIsNotReady(next string) {
	t := c.t
	t.Helper()
	kubelet := func(order func(context.Context, *client.Client) error) {
		t.Helper()
		require.NoError(t, nodeops.Ask(t.Context(), c.Talosconfig(), c.Address(firstWorker).String(), order))
	}
	kubelet(func(ctx context.Context, api *client.Client) error {
		_, err := api.ServiceStop(ctx, "kubelet")
		return err
	})
	polltest.Until(t, func() bool {
		node, err := c.kubernetes().CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
			return condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue
		})
	}, "worker-1 is Ready without a kubelet")
	require.EqualError(t, c.hasty("v1.36.2").Run(t.Context()),
		"Kubernetes stays as it is: not Ready: worker-1: mend that (`kubectl describe node worker-1` says why), then run up again")

	patient := c.upgrade("v1.36.2")
	output := &lines{after: 1, end: func() {
		kubelet(func(ctx context.Context, api *client.Client) error {
			_, err := api.ServiceStart(ctx, "kubelet")
			return err
		})
	}}
	patient.Limits.Nodes, patient.Progress = time.Minute, output
	require.EqualError(t, patient.Run(t.Context()), next)
	require.Equal(t, "waits for Nodes that are not Ready: worker-1 (1m0s at most)\n", output.printed.String())
}

// token returns the ID of the bootstrap token, which is the public half of it.
func (c *cluster) token() string {
	id, _, _ := strings.Cut(c.Secrets().Secrets.BootstrapToken, ".")
	return id
}

// upgradesInOrder checks a whole upgrade: the objects of Talos v1.13 get its mark with the first upgrade, a worker that is not in the inventory stays
// behind, a node that does not exist yet is left out, and a second run finds nothing to do.
func (c *cluster) upgradesInOrder() {
	t := c.t
	t.Helper()
	output := &lines{}
	upgrade := c.upgrade("v1.35.5")
	upgrade.Progress = output
	upgrade.Nodes = append(append([]rolling.Node{}, c.nodes[:4]...), rolling.Node{Name: "worker-9", Address: c.Address(250)})
	require.NoError(t, upgrade.Run(t.Context()))
	require.Equal(t, `the Node worker-2 is not in the inventory: its kubelet stays at v1.35.4
worker-9 is not a Node yet: it starts with v1.35.5
kube-apiserver on control-1: v1.35.4 → v1.35.5
kube-apiserver on control-2: v1.35.4 → v1.35.5
kube-apiserver on control-3: v1.35.4 → v1.35.5
kube-controller-manager on control-1: v1.35.4 → v1.35.5
kube-controller-manager on control-2: v1.35.4 → v1.35.5
kube-controller-manager on control-3: v1.35.4 → v1.35.5
kube-scheduler on control-1: v1.35.4 → v1.35.5
kube-scheduler on control-2: v1.35.4 → v1.35.5
kube-scheduler on control-3: v1.35.4 → v1.35.5
kube-proxy in the configuration of control-1: v1.35.5
kube-proxy in the configuration of control-2: v1.35.5
kube-proxy in the configuration of control-3: v1.35.5
applied Secret kube-system/bootstrap-token-`+c.token()+`
applied ClusterRoleBinding system-bootstrap-approve-node-client-csr
applied ClusterRoleBinding system-bootstrap-node-bootstrapper
applied ClusterRoleBinding system-bootstrap-node-renewal
applied ClusterRole flannel
applied ClusterRoleBinding flannel
applied ServiceAccount kube-system/flannel
applied ConfigMap kube-system/kube-flannel-cfg
applied DaemonSet kube-system/kube-flannel
applied DaemonSet kube-system/kube-proxy
applied ServiceAccount kube-system/kube-proxy
applied ClusterRoleBinding kube-proxy
applied ServiceAccount kube-system/coredns
applied ClusterRole system:coredns
applied ClusterRoleBinding system:coredns
applied ConfigMap kube-system/coredns
applied Deployment kube-system/coredns
applied Service kube-system/kube-dns
applied ConfigMap kube-system/kubeconfig-in-cluster
applied ClusterRoleBinding system:talos-nodes
applied ClusterRole system:talos-nodes
kubelet of control-1: v1.35.4 → v1.35.5
kubelet of control-2: v1.35.4 → v1.35.5
kubelet of control-3: v1.35.4 → v1.35.5
kubelet of worker-1: v1.35.4 → v1.35.5
Kubernetes v1.35.5 runs on all nodes
`, output.printed.String())

	all := &lines{}
	upgrade = c.upgrade("v1.35.5")
	upgrade.Progress = all
	require.NoError(t, upgrade.Run(t.Context()))
	require.Equal(t, "kubelet of worker-2: v1.35.4 → v1.35.5\nKubernetes v1.35.5 runs on all nodes\n", all.printed.String(), "the rest runs already")

	again := &lines{}
	upgrade.Progress = again
	require.NoError(t, upgrade.Run(t.Context()))
	require.Equal(t, "Kubernetes v1.35.5 runs on all nodes\n", again.printed.String())
	c.runs("v1.35.5")
}

// goesOnAfterEachStep ends an upgrade when it has made one step and announced the next, and runs it again, until nothing is left.
func (c *cluster) goesOnAfterEachStep() {
	t := c.t
	t.Helper()
	ended := 0
	for done := false; !done; ended++ {
		require.Less(t, ended, 30, "each run makes a step")
		ctx, end := context.WithCancel(t.Context())
		upgrade := c.upgrade("v1.35.6")
		upgrade.Progress = &lines{after: 2, end: end}
		done = upgrade.Run(ctx) == nil
		end()
	}
	require.Greater(t, ended, 15, "one for each step")
	c.runs("v1.35.6")
}

// runs checks that everything runs a version: the Nodes, the static pods, kube-proxy, and the machine configurations, which are
// those that the generator makes for that version.
func (c *cluster) runs(version string) {
	t := c.t
	t.Helper()
	api := c.kubernetes()
	nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, nodes.Items, len(c.nodes))
	for _, node := range nodes.Items {
		require.Equal(t, version, node.Status.NodeInfo.KubeletVersion, node.Name)
	}
	for _, id := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		polltest.Until(t, func() bool { // a kubelet that restarts shows its mirror pods anew
			pods, err := api.CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=" + id})
			return err == nil && len(pods.Items) == 3 && !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
				return pod.Spec.Containers[0].Image != "registry.k8s.io/"+id+":"+version
			})
		}, id, " on all control planes runs ", version)
	}
	proxy, err := api.AppsV1().DaemonSets("kube-system").Get(t.Context(), "kube-proxy", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "registry.k8s.io/kube-proxy:"+version, proxy.Spec.Template.Spec.Containers[0].Image)
	for _, node := range c.nodes {
		kind := machinetype.TypeWorker
		if node.ControlPlane {
			kind = machinetype.TypeControlPlane
		}
		wanted, err := configloader.NewFromBytes(c.Configuration(kind, at(version)))
		require.NoError(t, err)
		text, err := wanted.Bytes()
		require.NoError(t, err)
		require.Equal(t, withoutEmpty(string(text)), withoutEmpty(c.running(node)), node.Name)
	}
}

// withoutEmpty leaves out a field that is empty: a patch drops it.
func withoutEmpty(configuration string) string {
	return strings.ReplaceAll(configuration, "    registries: {}\n", "")
}

// at sets the images of a version, as the generator does.
func at(version string) func(*v1alpha1.Config) {
	return func(cfg *v1alpha1.Config) {
		cfg.MachineConfig.MachineKubelet.KubeletImage = "ghcr.io/siderolabs/kubelet:" + version
		if cfg.ClusterConfig.APIServerConfig == nil {
			return // a worker's
		}
		cfg.ClusterConfig.APIServerConfig.ContainerImage = "registry.k8s.io/kube-apiserver:" + version
		cfg.ClusterConfig.ControllerManagerConfig.ContainerImage = "registry.k8s.io/kube-controller-manager:" + version
		cfg.ClusterConfig.SchedulerConfig.ContainerImage = "registry.k8s.io/kube-scheduler:" + version
		cfg.ClusterConfig.ProxyConfig.ContainerImage = "registry.k8s.io/kube-proxy:" + version
	}
}

// running returns the machine configuration that a node runs.
func (c *cluster) running(node rolling.Node) (text string) {
	c.t.Helper()
	require.NoError(c.t, nodeops.Ask(c.t.Context(), c.Talosconfig(), node.Address.String(), func(ctx context.Context, api *client.Client) error {
		active, err := safe.StateGetByID[*config.MachineConfig](ctx, api.COSI, config.ActiveID)
		if err != nil {
			return err
		}
		bytes, err := active.Provider().Bytes()
		text = string(bytes)
		return err
	}))
	return text
}
