package accounttokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
)

// LostNodes returns those of names that have a Node; names are machines that are lost for good. It refuses those that the API server still hears
// from: a machine that does not answer here may still run, for example behind a firewall. It waits until the limit for one that was just stopped.
func LostNodes(ctx context.Context, api kubernetes.Interface, names []string, limit time.Duration) (lost []string, err error) {
	err = within(ctx, limit, func(ctx context.Context) error {
		var alive []error
		lost = nil
		for _, name := range names {
			node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				continue
			case err != nil:
				return fmt.Errorf("read the Node %s: %w", name, err)
			case kubernetesclient.IsReady(node):
				alive = append(alive, fmt.Errorf("the Node %s is Ready, so the API server hears from its machine, which runs on with the former secrets: stop it", name))
			}
			lost = append(lost, name)
		}
		return errors.Join(alive...)
	})
	return lost, err
}

// ForgetNodes deletes the Nodes of machines that are lost for good. A DaemonSet wants a pod on each Node, and would wait forever for those on a
// dead one.
func ForgetNodes(ctx context.Context, api kubernetes.Interface, lost []string) error {
	for _, name := range lost {
		if err := api.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the Node %s: %w", name, err)
		}
	}
	return nil
}
