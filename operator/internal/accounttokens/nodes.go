package accounttokens

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ForgetNodes deletes the Nodes of machines that are lost for good, and returns the names of those that were there. A DaemonSet wants a pod
// on each Node, and would wait for those on a dead one without end.
func ForgetNodes(ctx context.Context, api kubernetes.Interface, names []string) (forgotten []string, err error) {
	for _, name := range names {
		err := api.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return forgotten, fmt.Errorf("delete the Node %s: %w", name, err)
		}
		forgotten = append(forgotten, name)
	}
	return forgotten, nil
}
