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
	// nvidiaHandler is the container runtime that the extension nvidia-container-toolkit adds; outside of it the device
	// plugin finds no driver (siderolabs/extensions, nvidia-gpu/nvidia-container-toolkit/README.md).
	nvidiaHandler = "nvidia"
	// pluginGrace is how long a kubelet remembers the devices of a plugin that went (pkg/kubelet/cm/devicemanager).
	pluginGrace = 5 * time.Minute
)

// gpus are the GPUs that a kubelet has been told of by a device plugin on its node.
type gpus struct {
	told int64     // 0 until a plugin has told of some
	lost time.Time // when the plugin went; zero while it is there
}

// offers is how many GPUs a device plugin finds on the node: those that the driver in its Talos takes, when the driver's
// modules are loaded and the container toolkit is there with the driver's own libraries (same README). The toolkit's services
// wait for ever without one of them.
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

// follow looks whether a device plugin tells of the GPUs now, and as how many of each.
func (g *gpus) follow(node talos.KubernetesNode, shares int64, now time.Time) {
	switch count := offers(node) * shares; {
	case count > 0:
		g.told, g.lost = count, time.Time{}
	case g.told > 0 && g.lost.IsZero():
		g.lost = now
	}
}

// into writes the GPUs into a Node's status as a kubelet does: those of a plugin that went cannot be used any more, and
// after a while there are none, which is not the same as never having had any.
func (g *gpus) into(status *corev1.NodeStatus, now time.Time) {
	if g.told == 0 {
		return
	}
	capacity, allocatable := g.told, g.told
	if !g.lost.IsZero() {
		allocatable = 0
		if now.Sub(g.lost) > pluginGrace {
			capacity = 0
		}
	}
	status.Capacity[gpuResource] = *resource.NewQuantity(capacity, resource.DecimalSI)
	status.Allocatable[gpuResource] = *resource.NewQuantity(allocatable, resource.DecimalSI)
}

// sameGPUs compares what two statuses say of GPUs.
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

// addGPUs adds those of the node to its status.
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

// pluginOffers is as how many a device plugin's Pod offers each GPU: none unless it runs on the node, in the runtime that
// gives it the driver.
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
