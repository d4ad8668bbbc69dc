package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// orphanTimeout limits the update of the Nodes' labels.
const orphanTimeout = 5 * time.Second

// orphan removes the label of a running kubelet from all Nodes except these. KWOK then leaves their Pods alone, as on a dead
// machine: none starts and none ends.
func (p *controlPlane) orphan(ctx context.Context, running []string) error {
	ctx, cancel := context.WithTimeout(ctx, orphanTimeout)
	defer cancel()
	own, err := p.current()
	if err != nil {
		return err
	}
	nodes, err := own.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodeSelector})
	if err != nil {
		return fmt.Errorf("list the Nodes: %w", err)
	}
	var errs []error
	for _, node := range nodes.Items {
		if slices.Contains(running, node.Name) {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, kubeletLabel)
		_, err := own.admin.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
