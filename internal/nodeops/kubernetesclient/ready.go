package kubernetesclient

import corev1 "k8s.io/api/core/v1"

// IsReady reports whether the kubelet of a Node says that it takes pods. The controller manager sets that to unknown when it hears nothing.
func IsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
