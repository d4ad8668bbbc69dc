package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// CordonAnnotation marks a Node that a run has cordoned, as talos.dev/cordoned does for Talos (machinery constants,
// AnnotationCordonedKey). This run or the next uncordons every Node with the mark. A Node that a person has cordoned has no
// mark and stays cordoned.
const CordonAnnotation = "em-infra/cordoned"

// The values of the mark. A Node that leaves stays cordoned while others are changed, because its removal may be in progress at the same time. An up
// that keeps the Node removes the cordon at its end.
const (
	cordonedToReturn = "true"
	cordonedToLeave  = "leaves"
)

func markOf(returns bool) string {
	if returns {
		return cordonedToReturn
	}
	return cordonedToLeave
}

// cordon cordons a Node, if there is one, and marks it. A mark of an earlier run is replaced.
func (k *Kubernetes) cordon(ctx context.Context, name, mark string) error {
	var node nodeObject
	err := k.call(ctx, http.MethodGet, "/api/v1/nodes/"+name, nil, &node)
	if isRefusal(err, http.StatusNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("its Node: %w", err)
	}
	if has := node.Metadata.Annotations[CordonAnnotation]; node.Spec.Unschedulable && (has == "" || has == mark) {
		return nil
	}
	change := object{"spec": object{"unschedulable": true}, "metadata": object{"annotations": object{CordonAnnotation: mark}}}
	if err := k.call(ctx, http.MethodPatch, "/api/v1/nodes/"+name, change, nil); err != nil {
		return fmt.Errorf("cordon: %w", err)
	}
	return nil
}

// Uncordon uncordons all Nodes that a run has cordoned, except those that leave and those that are busy. It calls busy after it has read the Nodes.
// It returns the names of the uncordoned Nodes.
func (k *Kubernetes) Uncordon(ctx context.Context, busy func() []string) (uncordoned []string, err error) {
	return k.uncordon(ctx, func(node nodeObject) bool {
		return node.Metadata.Annotations[CordonAnnotation] != cordonedToLeave && !slices.Contains(busy(), node.Metadata.Name)
	})
}

// UncordonAll uncordons all Nodes that a run has cordoned, also for a removal that did not end. It returns their names.
func (k *Kubernetes) UncordonAll(ctx context.Context) (uncordoned []string, err error) {
	return k.uncordon(ctx, func(nodeObject) bool { return true })
}

func (k *Kubernetes) uncordon(ctx context.Context, returns func(nodeObject) bool) (uncordoned []string, err error) {
	var list nodeList
	if err := k.call(ctx, http.MethodGet, "/api/v1/nodes", nil, &list); err != nil {
		return nil, fmt.Errorf("list of Nodes: %w", err)
	}
	var problems []error
	for _, node := range list.Items {
		if node.Metadata.Annotations[CordonAnnotation] == "" || !returns(node) {
			continue
		}
		change := object{
			"metadata": object{"annotations": object{CordonAnnotation: nil}},
			"spec":     object{"unschedulable": nil},
		}
		err := k.call(ctx, http.MethodPatch, "/api/v1/nodes/"+node.Metadata.Name, change, nil)
		switch {
		case err == nil:
			uncordoned = append(uncordoned, node.Metadata.Name)
		case !isRefusal(err, http.StatusNotFound):
			problems = append(problems, fmt.Errorf("uncordon %s: %w", node.Metadata.Name, err))
		}
	}
	return uncordoned, errors.Join(problems...)
}
