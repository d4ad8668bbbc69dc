package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// applyMachineConfig sets the labels, annotations and taints of the machine configuration on the Node, and removes those of
// an earlier configuration (k8s/node_apply.go). A control plane does so as administrator, a worker as its kubelet, which must
// not set labels such as node-role.kubernetes.io.
func (k *kubelet) applyMachineConfig(ctx context.Context) error {
	client := k.client
	if k.node.Config.Machine().Type().IsControlPlane() {
		own, err := k.plane.current()
		if err != nil {
			return err
		}
		client = own.admin
	}
	node, err := client.CoreV1().Nodes().Get(ctx, k.node.Hostname, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("apply the machine configuration to the Node: %w", err)
	}
	before := node.DeepCopy()
	if err := applyTo(node, k.node); err != nil {
		return fmt.Errorf("apply the machine configuration to the Node: %w", err)
	}
	if equalMetadata(before, node) {
		return nil
	}
	if _, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("apply the machine configuration to the Node: %w", err)
	}
	return nil
}

func equalMetadata(a, b *corev1.Node) bool {
	return maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value })
}

func applyTo(object *corev1.Node, node talos.KubernetesNode) error {
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	if err := applyOwned(object, constants.AnnotationOwnedLabels, object.Labels, wantedLabels(node)); err != nil {
		return err
	}
	annotations := maps.Clone(map[string]string(node.Config.Machine().NodeAnnotations()))
	if err := applyOwned(object, constants.AnnotationOwnedAnnotations, object.Annotations, annotations); err != nil {
		return err
	}
	return applyTaints(object, wantedTaints(node))
}

// wantedLabels returns the labels of the machine configuration, the role of a control plane, and the extensions
// (k8s/node_label_spec.go).
func wantedLabels(node talos.KubernetesNode) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, node.Config.Machine().NodeLabels())
	if node.Config.Machine().Type().IsControlPlane() {
		labels[constants.LabelNodeRoleControlPlane] = ""
	}
	for _, extension := range node.Release.Extensions {
		labels[constants.K8sExtensionPrefix+extension.Name[strings.LastIndexByte(extension.Name, '/')+1:]] = extension.Version
	}
	return labels
}

// wantedTaints returns the taints of the machine configuration, KEY: VALUE:EFFECT or KEY: EFFECT, and that of a control plane
// (k8s/node_taint_spec.go).
func wantedTaints(node talos.KubernetesNode) []corev1.Taint {
	var taints []corev1.Taint
	configured := node.Config.Machine().NodeTaints()
	for _, key := range slices.Sorted(maps.Keys(configured)) {
		value, effect, found := strings.Cut(configured[key], ":")
		if !found {
			value, effect = "", value
		}
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	if node.Config.Machine().Type().IsControlPlane() && !node.Config.Cluster().ScheduleOnControlPlanes() {
		taints = append(taints, corev1.Taint{Key: constants.LabelNodeRoleControlPlane, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// applyOwned sets the wanted values, removes values that Talos owned and no longer wants, and records what it owns now.
// Values of other owners stay.
func applyOwned(object *corev1.Node, record string, have, wanted map[string]string) error {
	owned, err := readOwned(object, record)
	if err != nil {
		return err
	}
	for _, key := range owned {
		if _, still := wanted[key]; !still {
			delete(have, key)
		}
	}
	var now []string
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := have[key]; there && !slices.Contains(owned, key) && have[key] != wanted[key] {
			continue
		}
		have[key] = wanted[key]
		now = append(now, key)
	}
	return writeOwned(object, record, now)
}

func applyTaints(object *corev1.Node, wanted []corev1.Taint) error {
	owned, err := readOwned(object, constants.AnnotationOwnedTaints)
	if err != nil {
		return err
	}
	keys := make([]string, 0, len(wanted))
	for _, taint := range wanted {
		keys = append(keys, taint.Key)
	}
	object.Spec.Taints = slices.DeleteFunc(object.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(owned, t.Key) || slices.Contains(keys, t.Key)
	})
	object.Spec.Taints = append(object.Spec.Taints, wanted...)
	slices.Sort(keys)
	return writeOwned(object, constants.AnnotationOwnedTaints, keys)
}

func readOwned(object *corev1.Node, record string) ([]string, error) {
	text := object.Annotations[record]
	if text == "" {
		return nil, nil
	}
	var keys []string
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", record, err)
	}
	return keys, nil
}

func writeOwned(object *corev1.Node, record string, keys []string) error {
	if len(keys) == 0 {
		delete(object.Annotations, record)
		return nil
	}
	text, err := json.Marshal(keys)
	if err == nil {
		object.Annotations[record] = string(text)
	}
	return err
}
