package object

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The annotations that configure the provider (provider/pkg/metadata/annotations.go).
const (
	autonamed         = "pulumi.com/autonamed"
	skipAwait         = "pulumi.com/skipAwait"
	waitFor           = "pulumi.com/waitFor"
	timeoutSeconds    = "pulumi.com/timeoutSeconds"
	replaceUnready    = "pulumi.com/replaceUnready"
	patchForce        = "pulumi.com/patchForce"
	patchFieldManager = "pulumi.com/patchFieldManager"
	propagationPolicy = "pulumi.com/deletionPropagationPolicy"
)

// isSet reports whether an annotation is "true".
func isSet(object *unstructured.Unstructured, annotation string) bool {
	return annotationOf(object, annotation) == "true"
}

// annotationOf returns one annotation, even if others are unknown.
func annotationOf(object *unstructured.Unstructured, annotation string) string {
	annotations, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "annotations") // unknown
	all, _ := annotations.(map[string]any)
	value, _ := all[annotation].(string)
	return value
}

// annotate sets one annotation, unless all annotations or the metadata are unknown.
func annotate(object *unstructured.Unstructured, annotation, value string) {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	switch annotations := metadata["annotations"].(type) {
	case nil:
		metadata["annotations"] = map[string]any{annotation: value}
	case map[string]any:
		annotations[annotation] = value
	}
}

func annotatedSeconds(inputs *unstructured.Unstructured) (time.Duration, bool) {
	seconds, err := strconv.Atoi(annotationOf(inputs, timeoutSeconds))
	return time.Duration(seconds) * time.Second, err == nil
}

// propagation returns the policy of a deletion. The objects that an object owns are deleted first, unless its annotation says
// otherwise.
func propagation(inputs *unstructured.Unstructured) metav1.DeletionPropagation {
	switch annotationOf(inputs, propagationPolicy) {
	case "orphan", "Orphan":
		return metav1.DeletePropagationOrphan
	case "background", "Background":
		return metav1.DeletePropagationBackground
	default:
		return metav1.DeletePropagationForeground
	}
}
