package accounttokens

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Elsewhere returns the other namespaces that have pods with tokens, sorted: those pods have to be restarted, too.
func Elsewhere(ctx context.Context, api kubernetes.Interface, restarted []string) ([]string, error) {
	pods, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	var found []string
	for _, pod := range pods.Items {
		if hasToken(pod) && !slices.Contains(restarted, pod.Namespace) {
			found = append(found, pod.Namespace)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// hasToken reports whether a pod that runs mounts a token of its service account.
func hasToken(pod corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				return true
			}
		}
	}
	return false
}
