package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// staticPod is a component that Talos runs as a static pod of a control plane (k8s/control_plane_static_pod.go).
type staticPod struct{ name, image string }

// staticPods returns the static pods of a node, without those that its machine configuration disables.
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

// mirrorStaticPods creates the mirror pods of the node's static pods, as its kubelet does. A deleted mirror pod is created
// again, because the static pod still runs; a changed one is replaced (pkg/kubelet/pod/mirror_client.go).
func (k *kubelet) mirrorStaticPods(ctx context.Context, run *staticPodRun) error {
	if run == nil {
		return nil
	}
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.node.Hostname, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // a deleted Node has no mirror pods
	}
	if err != nil {
		return fmt.Errorf("mirror the static pods: %w", err)
	}
	there, err := k.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range staticPods(run.node) {
		if run.starts && pod.name == k8s.APIServerID {
			continue // KWOK would mark a new pod as ready
		}
		wanted := mirror(pod, node, run.node)
		i := slices.IndexFunc(there, func(p corev1.Pod) bool { return p.Namespace == wanted.Namespace && p.Name == wanted.Name })
		if i >= 0 && there[i].Annotations[corev1.MirrorPodAnnotationKey] == wanted.Annotations[corev1.MirrorPodAnnotationKey] {
			wanted = &there[i]
		} else if wanted, err = k.mirrorAnew(ctx, wanted, i >= 0); err != nil {
			return fmt.Errorf("mirror the static pod %s: %w", pod.name, err)
		}
		if run.crashes && pod.name == k8s.APIServerID {
			if err := k.showCrashing(ctx, wanted, run.node); err != nil {
				return fmt.Errorf("show that the static pod %s does not run: %w", pod.name, err)
			}
		}
	}
	return nil
}

// mirrorAnew creates a mirror pod and replaces the former one, if there is one.
func (k *kubelet) mirrorAnew(ctx context.Context, wanted *corev1.Pod, former bool) (*corev1.Pod, error) {
	pods := k.client.CoreV1().Pods(wanted.Namespace)
	if former {
		at := int64(0)
		if err := pods.Delete(ctx, wanted.Name, metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return pods.Create(ctx, wanted, metav1.CreateOptions{})
}

// showCrashing sets a pod's container to CrashLoopBackOff. A real one is not Ready. Here the Ready condition is left out,
// because KWOK would otherwise set it to true (tools/kwok, stages.yaml).
func (k *kubelet) showCrashing(ctx context.Context, pod *corev1.Pod, node talos.KubernetesNode) error {
	crashing := "CrashLoopBackOff"
	pod = pod.DeepCopy()
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil && status.State.Waiting.Reason == crashing {
			return nil
		}
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, RestartCount: 1,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashing}},
		}},
	}
	for _, address := range kubeletAddresses(node) {
		pod.Status.PodIP, pod.Status.HostIP = address.String(), address.String()
	}
	_, err := k.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another client was faster; the next update repeats it
	}
	return err
}

// pods returns the Pods on the node. A kubelet may list no others.
func (k *kubelet) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := k.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", k.node.Hostname).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the Pods of %s: %w", k.node.Hostname, err)
	}
	return list.Items, nil
}

// mirror returns the mirror pod of a static pod: it belongs to its Node (pkg/kubelet/pod/mirror_client.go), and has Talos'
// labels and annotations.
func mirror(pod staticPod, object *corev1.Node, node talos.KubernetesNode) *corev1.Pod {
	isController := true
	hash := hashOf(pod.name, node)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.name + "-" + object.Name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{
				"tier": "control-plane", "k8s-app": pod.name, "component": pod.name,
				"app.kubernetes.io/name":       pod.name,
				"app.kubernetes.io/version":    compatibility.VersionFromImageRef(pod.image).String(),
				"app.kubernetes.io/component":  "control-plane",
				"app.kubernetes.io/managed-by": "Talos",
			},
			Annotations: map[string]string{
				corev1.MirrorPodAnnotationKey: hash, "kubernetes.io/config.hash": hash, "kubernetes.io/config.source": "http",
				constants.AnnotationStaticPodConfigVersion:     node.StaticPods.Config[pod.name],
				constants.AnnotationStaticPodConfigFileVersion: node.StaticPods.Files,
				constants.AnnotationStaticPodSecretsVersion:    node.StaticPods.Secrets,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: object.Name, UID: object.UID, Controller: &isController,
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: object.Name, HostNetwork: true, PriorityClassName: "system-cluster-critical",
			Containers: []corev1.Container{{Name: pod.name, Image: pod.image}},
			// No taint of a Node evicts it (pkg/kubelet/config/common.go).
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
	}
}

// hashOf returns a hash that identifies the content of a static pod.
func hashOf(pod string, node talos.KubernetesNode) string {
	v := node.StaticPods
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%s", pod, v.Config[pod], v.Files, v.Secrets))
	return hex.EncodeToString(sum[:16])
}
