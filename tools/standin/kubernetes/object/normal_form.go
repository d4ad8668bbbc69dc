package object

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/difference"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// ownKinds are Kubernetes' own kinds with their Go types. A scheme of our own: Helm adds to the common one while it runs.
var ownKinds = func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(kinds))
	return kinds
}()

// readOnly fields of metadata are never inputs.
var readOnly = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "uid",
}

// normalize returns inputs in the form in which the API server would show them, so that what means the same is the
// same: quantities, times, Secrets' texts as data. Inputs with unknown values, and custom resources, stay as they are.
func normalize(inputs *unstructured.Unstructured) *unstructured.Unstructured {
	normal := inputs
	if !properties.Unknown(inputs.Object) {
		switch kind := inputs.GroupVersionKind(); {
		case isSecret(kind):
			normal = normalSecret(inputs)
		case isDefinition(kind):
			normal = normalDefinition(inputs)
		default:
			normal = typed(inputs)
		}
	}
	if metadata, ok := normal.Object["metadata"].(map[string]any); ok {
		for _, name := range readOnly {
			delete(metadata, name)
		}
	}
	return normal
}

func isSecret(kind schema.GroupVersionKind) bool {
	return kind.Group == "" && kind.Kind == "Secret"
}

func isConfigMap(kind schema.GroupVersionKind) bool {
	return kind.Group == "" && kind.Kind == "ConfigMap"
}

func isDefinition(kind schema.GroupVersionKind) bool {
	return kind.Group == "apiextensions.k8s.io" && kind.Kind == "CustomResourceDefinition"
}

// typed sends inputs through the Go type of their kind and back. Inputs that do not fit are for the API server to judge.
func typed(inputs *unstructured.Unstructured) *unstructured.Unstructured {
	object, err := ownKinds.New(inputs.GroupVersionKind())
	if err != nil {
		return inputs
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(inputs.Object, object); err != nil {
		return inputs
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return inputs
	}
	return prune(&unstructured.Unstructured{Object: back}, inputs)
}

// prune returns of an object what the shape has, too.
func prune(object, shape *unstructured.Unstructured) *unstructured.Unstructured {
	pruned, _ := difference.Prune(object.Object, shape.Object).(map[string]any)
	return &unstructured.Unstructured{Object: pruned}
}

// normalSecret has its texts encoded among the data, as the API server keeps them, and data in the standard encoding.
// Data that is not base64 is for the API server to refuse.
func normalSecret(inputs *unstructured.Unstructured) *unstructured.Unstructured {
	normal := inputs.DeepCopy()
	data, _ := normal.Object["data"].(map[string]any)
	texts, _ := normal.Object["stringData"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for name, value := range data {
		if text, ok := value.(string); ok {
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
				data[name] = base64.StdEncoding.EncodeToString(decoded)
			}
		}
	}
	for name, value := range texts {
		if text, ok := value.(string); ok {
			data[name] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	if len(texts) > 0 {
		delete(normal.Object, "stringData")
	}
	if len(data) > 0 {
		normal.Object["data"] = data
	}
	return normal
}

// normalDefinition lacks what the API server drops.
func normalDefinition(inputs *unstructured.Unstructured) *unstructured.Unstructured {
	normal := inputs.DeepCopy()
	delete(normal.Object, "status")
	if preserve, found, err := unstructured.NestedBool(normal.Object, "spec", "preserveUnknownFields"); err == nil && found && !preserve {
		unstructured.RemoveNestedField(normal.Object, "spec", "preserveUnknownFields")
	}
	return normal
}
