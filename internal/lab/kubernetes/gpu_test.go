package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

func withModules(names ...string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.MachineConfig.MachineKernel = &v1alpha1.KernelConfig{}
		for _, name := range names {
			c.MachineConfig.MachineKernel.KernelModules = append(c.MachineConfig.MachineKernel.KernelModules, &v1alpha1.KernelModuleConfig{ModuleName: name})
		}
	}
}

// gpuNode returns a worker with two cards, the sound function of one of them, and an image with the driver.
func gpuNode(s *site, vmid int, patches ...func(*v1alpha1.Config)) talos.KubernetesNode {
	node := s.node(vmid, machine.TypeWorker, patches...)
	node.Hardware.PCI = []talos.PCIDevice{
		{Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204"},
		{Address: "0000:01:00.1", Class: "0x040300", Vendor: "0x10de", Device: "0x1aef"},
		{Address: "0000:02:00.0", Class: "0x030200", Vendor: "0x10de", Device: "0x1eb8"},
		{Address: "0000:03:00.0", Class: "0x030000", Vendor: "0x1002", Device: "0x744c"},
	}
	node.Release.Extensions = append(node.Release.Extensions,
		talos.Extension{Name: "siderolabs/nvidia-open-gpu-kernel-modules-lts"}, talos.Extension{Name: "siderolabs/nvidia-container-toolkit-lts"})
	return node
}

// devicePlugin returns a DaemonSet like that of NVIDIA's chart.
func devicePlugin(runtimeClass *string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "nvidia-device-plugin"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "nvidia-device-plugin", Namespace: "kube-system"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RuntimeClassName: runtimeClass,
					Containers:       []corev1.Container{{Name: "plugin", Image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}},
				},
			},
		},
	}
}

// gpusOf returns a Node's GPUs, capacity and allocatable: -1 for a missing value.
func (c cluster) gpusOf(ctx context.Context, name string) [2]int64 {
	node, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return [2]int64{-2, -2}
	}
	counts := [2]int64{-1, -1}
	for i, list := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		if quantity, found := list["nvidia.com/gpu"]; found {
			counts[i] = quantity.Value()
		}
	}
	return counts
}

// looksAtPlugins waits until the kubelets of nodes with GPUs have looked at the device plugins once more. They do so after each renewal of their leases, so
// a look that began after this call has ended with the second renewal.
func (c cluster) looksAtPlugins(names ...string) {
	c.t.Helper()
	renewed := func(ctx context.Context, name string) time.Time {
		lease, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return time.Time{}
		}
		return lease.Spec.RenewTime.Time
	}
	for range 2 {
		for _, name := range names {
			before := renewed(c.t.Context(), name)
			c.eventually(name+" renews its lease", func(ctx context.Context) bool { return renewed(ctx, name).After(before) })
		}
	}
}

// TestGPUs: a node reports its GPUs while a device plugin runs on it that has access to them.
func TestGPUs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, programs := newSite(t, ourSecrets), kubernetestest.Tools(t)
	first := s.node(101, machine.TypeControlPlane)
	whole := gpuNode(s, 111, withModules("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"))
	withoutModules := gpuNode(s, 112)
	withoutDriver := gpuNode(s, 113, withModules("nvidia", "nvidia_uvm"))
	withoutDriver.Release.Extensions = nil
	withoutGSP := gpuNode(s, 114, withModules("nvidia", "nvidia_uvm"))
	withoutGSP.Hardware.PCI[0].Device = "0x1b06" // a GTX 1080 Ti, which the open modules do not support
	halfPair := gpuNode(s, 115, withModules("nvidia", "nvidia_uvm"))
	halfPair.Release.Extensions[len(halfPair.Release.Extensions)-1].Name = "siderolabs/nvidia-container-toolkit-production"
	clusters := kubernetestest.OpenClusters(t, t.TempDir(), programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	for _, node := range []talos.KubernetesNode{first, whole, withoutModules, withoutDriver, withoutGSP, halfPair} {
		clusters.NodeChanged(node)
	}
	c := admin(t, first)
	c.waitReadiness("node-111", corev1.ConditionTrue)

	class := "nvidia"
	sets := c.AppsV1().DaemonSets("kube-system")
	_, err := sets.Create(t.Context(), devicePlugin(nil), metav1.CreateOptions{})
	require.NoError(t, err)
	c.eventually("the plugin runs on the workers", func(ctx context.Context) bool { return c.readyPodsOf(ctx, "nvidia-device-plugin") == 5 })
	_, err = c.NodeV1().RuntimeClasses().Create(t.Context(), &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Handler: "nvidia",
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.looksAtPlugins("node-111")
	require.Equal(t, [2]int64{-1, -1}, c.gpusOf(t.Context(), "node-111"), "outside of the runtime with the driver the plugin finds none")

	require.NoError(t, sets.Delete(t.Context(), "nvidia-device-plugin", metav1.DeleteOptions{}))
	plugin := devicePlugin(&class)
	plugin.Name = "plugin"
	_, err = sets.Create(t.Context(), plugin, metav1.CreateOptions{})
	require.NoError(t, err)
	c.eventually("the node tells of its two GPUs", func(ctx context.Context) bool { return c.gpusOf(ctx, "node-111") == [2]int64{2, 2} })
	c.eventually("the plugin runs on all workers", func(ctx context.Context) bool { return c.readyPodsOf(ctx, "plugin") == 5 })
	c.looksAtPlugins("node-112", "node-113", "node-115")
	require.Equal(t, [2]int64{-1, -1}, c.gpusOf(t.Context(), "node-112"), "no modules")
	require.Equal(t, [2]int64{-1, -1}, c.gpusOf(t.Context(), "node-113"), "no driver")
	c.eventually("the open driver takes one of the two cards", func(ctx context.Context) bool { return c.gpusOf(ctx, "node-114") == [2]int64{1, 1} })
	require.Equal(t, [2]int64{-1, -1}, c.gpusOf(t.Context(), "node-115"), "a toolkit of another branch")

	require.NoError(t, sets.Delete(t.Context(), "plugin", metav1.DeleteOptions{}))
	c.eventually("without the plugin they cannot be used", func(ctx context.Context) bool { return c.gpusOf(ctx, "node-111") == [2]int64{2, 0} })

	configurations, err := c.CoreV1().ConfigMaps("kube-system").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "configurations-"}, Data: map[string]string{
			"shared": "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n",
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	shared := devicePlugin(&class)
	shared.Name = "sharing-plugin"
	template := &shared.Spec.Template.Spec
	template.Volumes = []corev1.Volume{{Name: "available-configs", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configurations.Name},
	}}}}
	template.Containers[0].Env = []corev1.EnvVar{{Name: "FALLBACK_STRATEGIES", Value: "named,single"}}
	_, err = sets.Create(t.Context(), shared, metav1.CreateOptions{})
	require.NoError(t, err)
	c.eventually("each GPU is shared by four", func(ctx context.Context) bool { return c.gpusOf(ctx, "node-111") == [2]int64{8, 8} })
}
