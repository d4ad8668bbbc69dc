package removal

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// markedCordon is the patch that cordons a Node as a run does.
const markedCordon = `{"metadata":{"annotations":{"` + nodeops.CordonAnnotation + `":"true"}},"spec":{"unschedulable":true}}`

// cordon cordons the Node with em-infra's mark, unless it was cordoned by hand before. After a removal that failed or was killed, the
// user may put the node back into the inventory: by the mark the next run takes the cordon back. The drain leaves a Node as it is that is
// cordoned, and is as patient with an API server that does not answer.
func (n Node) cordon(ctx context.Context, controlPlanes []string) error {
	patience := min(n.DrainTimeout, nodeops.APIPatience)
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	told := false
	_ = poll.Until(limited, interval, func(context.Context) (bool, error) { // what was wrong last is returned
		if last = n.cordonNow(ctx, controlPlanes); last != nil && !told {
			told = true
			n.say("%s: the Kubernetes API fails (%v); waiting for up to %s", n.Name, last, patience)
		}
		return last == nil, nil
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("removing %s: %w", n.Name, context.Cause(ctx))
	case last != nil:
		return fmt.Errorf("%s is not cordoned after %s (%w): mend that, then run up again", n.Name, patience, last)
	}
	return nil
}

func (n Node) cordonNow(ctx context.Context, controlPlanes []string) error {
	api, err := clientsetOf(ctx, n.Talosconfig, controlPlanes)
	if err != nil {
		return err
	}
	node, err := api.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err == nil && !node.Spec.Unschedulable {
		_, err = api.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, []byte(markedCordon), metav1.PatchOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
