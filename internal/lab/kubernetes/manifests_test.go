package kubernetes_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
)

func inline(name, contents string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterInlineManifests = append(c.ClusterConfig.ClusterInlineManifests,
			v1alpha1.ClusterInlineManifest{InlineManifestName: name, InlineManifestContents: contents})
	}
}

func withoutCNI(c *v1alpha1.Config) {
	c.ClusterConfig.ClusterNetwork.CNI = &v1alpha1.CNIConfig{CNIName: constants.NoneCNI}
}

func withoutProxy(c *v1alpha1.Config) {
	disabled := true
	c.ClusterConfig.ProxyConfig.Disabled = &disabled
}

func withoutDNS(c *v1alpha1.Config) {
	disabled := true
	c.ClusterConfig.CoreDNSConfig = &v1alpha1.CoreDNS{CoreDNSDisabled: &disabled}
}

// withTalosAPI lets pods of a namespace take snapshots of etcd.
func withTalosAPI(namespace string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		enabled := true
		c.MachineConfig.MachineFeatures.KubernetesTalosAPIAccessConfig = &v1alpha1.KubernetesTalosAPIAccessConfig{
			AccessEnabled: &enabled, AccessAllowedRoles: []string{"os:etcd:backup"}, AccessAllowedKubernetesNamespaces: []string{namespace},
		}
	}
}

func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {from: talos}\n", name)
}

// Order and names are those of Talos v1.12. Disabled manifests are absent.
func TestManifests(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	token := s.node(101, machine.TypeControlPlane).Config.Cluster().Token().ID()
	access := []string{
		"Secret kube-system bootstrap-token-" + token,
		"ClusterRoleBinding system-bootstrap-approve-node-client-csr",
		"ClusterRoleBinding system-bootstrap-node-bootstrapper",
		"ClusterRoleBinding system-bootstrap-node-renewal",
	}
	flannel := []string{
		"ClusterRole flannel", "ClusterRoleBinding flannel", "ServiceAccount kube-system flannel",
		"ConfigMap kube-system kube-flannel-cfg", "DaemonSet kube-system kube-flannel",
	}
	proxy := []string{"DaemonSet kube-system kube-proxy", "ServiceAccount kube-system kube-proxy", "ClusterRoleBinding kube-proxy"}
	dns := []string{
		"ServiceAccount kube-system coredns", "ClusterRole system:coredns", "ClusterRoleBinding system:coredns",
		"ConfigMap kube-system coredns", "Deployment kube-system coredns", "Service kube-system kube-dns",
	}
	rest := []string{
		"ConfigMap kube-system kubeconfig-in-cluster", "ClusterRoleBinding system:talos-nodes", "ClusterRole system:talos-nodes",
	}
	for name, test := range map[string]struct {
		patches []func(*v1alpha1.Config)
		wanted  [][]string
	}{
		"as generated": {nil, [][]string{access, flannel, proxy, dns, rest}},
		"no CNI":       {[]func(*v1alpha1.Config){withoutCNI}, [][]string{access, proxy, dns, rest}},
		"nothing": {
			[]func(*v1alpha1.Config){withoutCNI, withoutProxy, withoutDNS}, [][]string{access, rest},
		},
		"pods may ask the Talos API": {
			[]func(*v1alpha1.Config){withoutCNI, withoutProxy, withoutDNS, withTalosAPI("backup")},
			[][]string{{"CustomResourceDefinition serviceaccounts.talos.dev"}, access, rest},
		},
		"inline manifests come last, but for namespaces": {
			[]func(*v1alpha1.Config){
				withoutCNI, withoutProxy, withoutDNS,
				inline("app", configMap("app")+"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n# nothing\n"),
			}, [][]string{{"Namespace web"}, access, rest, {"ConfigMap app"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wanted []string
			for _, part := range test.wanted {
				wanted = append(wanted, part...)
			}
			names, err := kubernetes.Manifests(s.config(machine.TypeControlPlane, test.patches...))
			require.NoError(t, err)
			require.Equal(t, wanted, names)
		})
	}
}

func TestArgumentsOfKubeProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	require.Equal(t, []string{
		"--cluster-cidr=10.244.0.0/16", "--conntrack-max-per-core=0", "--hostname-override=$(NODE_NAME)",
		"--kubeconfig=/etc/kubernetes/kubeconfig", "--proxy-mode=nftables",
	}, kubernetes.ProxyArguments(s.config(machine.TypeControlPlane)))
	require.Contains(t, kubernetes.ProxyArguments(s.config(machine.TypeControlPlane, func(c *v1alpha1.Config) {
		c.ClusterConfig.ProxyConfig.ContainerImage = "registry.k8s.io/kube-proxy:v1.30.4"
	})), "--proxy-mode=iptables")
}

// TestWhatTalosMakes checks what runs in a new cluster.
func TestWhatTalosMakes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, programs := newSite(t, ourSecrets), kubernetestest.Tools(t)
	first := s.node(101, machine.TypeControlPlane, inline("first", configMap("first")), inline("other", "apiVersion: example.org/v1\nkind: Unknown\nmetadata: {name: x}\n"))
	clusters := kubernetestest.OpenClusters(t, t.TempDir(), programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	clusters.NodeChanged(first)
	clusters.NodeChanged(s.node(111, machine.TypeWorker))
	c := admin(t, first)
	c.eventually("CoreDNS runs", func(ctx context.Context) bool { return c.readyReplicas(ctx, "kube-system", "coredns") == 2 })
	for _, name := range []string{"kube-proxy", "kube-flannel"} {
		c.eventually(name+" runs on both nodes", func(ctx context.Context) bool { return c.readyPodsOf(ctx, name) == 2 })
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		c.eventually(name+" is shown", func(ctx context.Context) bool { return c.podRuns(ctx, "kube-system", name+"-node-101") })
	}

	// Existing objects stay unchanged; deleted ones are created again when Talos restarts.
	c.eventually("the inline manifest is made, whatever the others are", c.hasConfigMap("first"))
	_, err := c.CoreV1().ConfigMaps("default").Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "first"}, Data: map[string]string{"from": "somebody"},
	}, metav1.UpdateOptions{})
	require.NoError(t, err)
	changed := s.node(101, machine.TypeControlPlane, inline("first", configMap("first")), inline("second", configMap("second")))
	clusters.NodeChanged(changed)
	c.eventually("the second is made", c.hasConfigMap("second"))
	kept, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "somebody", kept.Data["from"])
	require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(t.Context(), "first", metav1.DeleteOptions{}))
	changed.BootID = "second-boot"
	clusters.NodeChanged(changed)
	c.eventually("what was deleted is back after a reboot", c.hasConfigMap("first"))
}

func (c cluster) hasConfigMap(name string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		_, err := c.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil
	}
}

func (c cluster) readyPodsOf(ctx context.Context, daemonSet string) int32 {
	set, err := c.AppsV1().DaemonSets("kube-system").Get(ctx, daemonSet, metav1.GetOptions{})
	if err != nil {
		return -1
	}
	return set.Status.NumberReady
}

func (c cluster) podRuns(ctx context.Context, namespace, name string) bool {
	pod, err := c.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	return err == nil && pod.Status.Phase == corev1.PodRunning
}
