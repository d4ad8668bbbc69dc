package kubernetesclient

import corev1 "k8s.io/api/core/v1"

// IsReady reports whether the condition Ready of a Node is true. The kubelet sets it; the controller manager sets it to unknown when the kubelet no
// longer reports.
func IsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
