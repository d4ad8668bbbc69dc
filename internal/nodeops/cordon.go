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

// cordon cordons a Node, if there is one. With mark it also sets [CordonAnnotation].
func (k *Kubernetes) cordon(ctx context.Context, name string, mark bool) error {
	var node nodeObject
	err := k.call(ctx, http.MethodGet, "/api/v1/nodes/"+name, nil, &node)
	if isRefusal(err, http.StatusNotFound) || err == nil && node.Spec.Unschedulable {
		return nil
	}
	if err != nil {
		return fmt.Errorf("its Node: %w", err)
	}
	change := object{"spec": object{"unschedulable": true}}
	if mark {
		change["metadata"] = object{"annotations": object{CordonAnnotation: "true"}}
	}
	if err := k.call(ctx, http.MethodPatch, "/api/v1/nodes/"+name, change, nil); err != nil {
		return fmt.Errorf("cordon: %w", err)
	}
	return nil
}

// Uncordon uncordons all Nodes that a run has cordoned, except for the given ones. It returns their names.
func (k *Kubernetes) Uncordon(ctx context.Context, except ...string) (uncordoned []string, err error) {
	var list nodeList
	if err := k.call(ctx, http.MethodGet, "/api/v1/nodes", nil, &list); err != nil {
		return nil, fmt.Errorf("list of Nodes: %w", err)
	}
	var problems []error
	for _, node := range list.Items {
		if node.Metadata.Annotations[CordonAnnotation] == "" || slices.Contains(except, node.Metadata.Name) {
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
