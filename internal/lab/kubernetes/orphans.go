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

// orphanTimeout is how long the marking of Nodes may take.
const orphanTimeout = 5 * time.Second

// orphan takes the mark of a running kubelet from all Nodes but these, so that KWOK leaves their Pods as a dead machine
// does: none starts there, none ends.
func (p *controlPlane) orphan(ctx context.Context, running []string) error {
	ctx, cancel := context.WithTimeout(ctx, orphanTimeout)
	defer cancel()
	nodes, err := p.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: nodeSelector})
	if err != nil {
		return fmt.Errorf("list the Nodes: %w", err)
	}
	var errs []error
	for _, node := range nodes.Items {
		if slices.Contains(running, node.Name) {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, kubeletLabel)
		_, err := p.admin.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
