package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nvidia"
)

const (
	gpuResource = corev1.ResourceName("nvidia.com/gpu")
	// devicePlugin is part of the name of NVIDIA's image, nvcr.io/nvidia/k8s-device-plugin.
	devicePlugin = "k8s-device-plugin"
	// nvidiaHandler is the container runtime of the extension nvidia-container-toolkit. With another runtime the device
	// plugin finds no driver (siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md).
	nvidiaHandler = "nvidia"
	// pluginGrace is how long a kubelet remembers the devices of a plugin that is gone (pkg/kubelet/cm/devicemanager).
	pluginGrace = 5 * time.Minute
)

// gpus are the GPUs that a device plugin has registered with the node's kubelet.
type gpus struct {
	reported int64     // 0 until a plugin has registered
	lost     time.Time // when the plugin was gone; zero while it runs
}

// offers returns the number of GPUs that a device plugin finds on the node: those that the driver in its Talos supports, if
// the driver's modules are loaded and the container toolkit with the driver's libraries is installed (same README). The
// toolkit's services wait forever if one of them is missing.
func offers(node talos.KubernetesNode) int64 {
	var extensions, loaded []string
	for _, extension := range node.Release.Extensions {
		extensions = append(extensions, extension.Name)
	}
	for _, module := range node.Config.Machine().Kernel().Modules() {
		loaded = append(loaded, module.Name())
	}
	if _, whole := nvidia.Installed(extensions); !whole || !slices.Contains(loaded, "nvidia") || !slices.Contains(loaded, "nvidia_uvm") {
		return 0
	}
	return int64(len(node.Hardware.DrivenBy(node.Release)))
}

// follow updates the GPUs by the device plugin's current registration. Each device counts as the given number of shares.
func (g *gpus) follow(node talos.KubernetesNode, shares int64, now time.Time) {
	switch count := offers(node) * shares; {
	case count > 0:
		g.reported, g.lost = count, time.Time{}
	case g.reported > 0 && g.lost.IsZero():
		g.lost = now
	}
}

// into writes the GPUs into a Node's status, as a kubelet does. After the plugin is gone, the GPUs are not allocatable, and
// later the number is zero. That differs from a Node that never had GPUs.
func (g *gpus) into(status *corev1.NodeStatus, now time.Time) {
	if g.reported == 0 {
		return
	}
	capacity, allocatable := g.reported, g.reported
	if !g.lost.IsZero() {
		allocatable = 0
		if now.Sub(g.lost) > pluginGrace {
			capacity = 0
		}
	}
	status.Capacity[gpuResource] = *resource.NewQuantity(capacity, resource.DecimalSI)
	status.Allocatable[gpuResource] = *resource.NewQuantity(allocatable, resource.DecimalSI)
}

// sameGPUs reports whether two statuses have the same GPUs.
func sameGPUs(a, b corev1.NodeStatus) bool {
	for _, lists := range [][2]corev1.ResourceList{{a.Capacity, b.Capacity}, {a.Allocatable, b.Allocatable}} {
		one, hasOne := lists[0][gpuResource]
		other, hasOther := lists[1][gpuResource]
		if hasOne != hasOther || one.Cmp(other) != 0 {
			return false
		}
	}
	return true
}

// addGPUs adds the GPUs of the node to its status.
func (k *kubelet) addGPUs(ctx context.Context, status *corev1.NodeStatus) error {
	if len(k.node.Hardware.NVIDIADevices()) == 0 {
		return nil
	}
	shares, err := k.pluginOffers(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	k.gpus.follow(k.node, shares, now)
	k.gpus.into(status, now)
	return nil
}

// pluginOffers returns the number of shares per GPU that a device plugin's Pod offers: zero unless the Pod runs on the node,
// in NVIDIA's container runtime.
func (k *kubelet) pluginOffers(ctx context.Context) (int64, error) {
	pods, err := k.pods(ctx)
	if err != nil {
		return 0, err
	}
	for _, pod := range pods {
		if !isPlugin(pod) || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || pod.Spec.RuntimeClassName == nil {
			continue
		}
		class, err := k.client.NodeV1().RuntimeClasses().Get(ctx, *pod.Spec.RuntimeClassName, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, fmt.Errorf("look at the runtime class of a device plugin: %w", err)
		}
		if err == nil && class.Handler == nvidiaHandler {
			return k.sharesOf(ctx, pod)
		}
	}
	return 0, nil
}

func isPlugin(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, devicePlugin) })
}
