package kubernetes

import (
	"context"
	"fmt"
	"slices"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// staticPod is a component that Talos has the kubelet of a control plane run (k8s/control_plane_static_pod.go).
type staticPod struct{ name, image string }

// staticPods are those of a node, without what its machine configuration has switched off.
func staticPods(node talos.KubernetesNode) []staticPod {
	cluster, plane := node.Config.Cluster(), node.Config.Machine().Controlplane()
	pods := []staticPod{{k8s.APIServerID, cluster.APIServer().Image()}}
	if !plane.ControllerManager().Disabled() {
		pods = append(pods, staticPod{k8s.ControllerManagerID, cluster.ControllerManager().Image()})
	}
	if !plane.Scheduler().Disabled() {
		pods = append(pods, staticPod{k8s.SchedulerID, cluster.Scheduler().Image()})
	}
	return pods
}

// mirrorStaticPods shows the node's static pods in the API, as its kubelet does. What somebody deletes there comes back,
// since it runs all the same.
func (k *kubelet) mirrorStaticPods(ctx context.Context) error {
	if !k.static.Load() {
		return nil
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.node.Hostname, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // nothing is mirrored for a Node that was deleted
	}
	if err != nil {
		return fmt.Errorf("mirror the static pods: %w", err)
	}
	there, err := k.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range staticPods(k.node) {
		wanted := mirror(pod, node, k.node.BootID)
		if slices.ContainsFunc(there, func(p corev1.Pod) bool { return p.Namespace == wanted.Namespace && p.Name == wanted.Name }) {
			continue
		}
		if _, err := k.client.CoreV1().Pods(wanted.Namespace).Create(ctx, wanted, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("mirror the static pod %s: %w", pod.name, err)
		}
	}
	return nil
}

// pods are those on the node; a kubelet may ask for no others.
func (k *kubelet) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := k.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", k.node.Hostname).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the Pods of %s: %w", k.node.Hostname, err)
	}
	return list.Items, nil
}

// mirror is a static pod as the API shows it: it belongs to its Node (pkg/kubelet/pod/mirror_client.go), and has the
// labels that Talos gives it.
func mirror(pod staticPod, node *corev1.Node, bootID string) *corev1.Pod {
	isController := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.name + "-" + node.Name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{
				"tier": "control-plane", "k8s-app": pod.name, "component": pod.name,
				"app.kubernetes.io/name":       pod.name,
				"app.kubernetes.io/version":    compatibility.VersionFromImageRef(pod.image).String(),
				"app.kubernetes.io/component":  "control-plane",
				"app.kubernetes.io/managed-by": "Talos",
			},
			Annotations: map[string]string{
				corev1.MirrorPodAnnotationKey: bootID, "kubernetes.io/config.hash": bootID, "kubernetes.io/config.source": "file",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &isController,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: node.Name, HostNetwork: true, PriorityClassName: "system-cluster-critical",
			Containers: []corev1.Container{{Name: pod.name, Image: pod.image}},
			// Nothing that befalls a Node drives them away (pkg/kubelet/config/common.go).
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
	}
}
