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

// ownKinds are Kubernetes' own kinds with their Go types. They have a separate scheme, because Helm adds to the common one while it
// runs.
var ownKinds = func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(kinds))
	return kinds
}()

// readOnly are the fields of metadata that are never inputs.
var readOnly = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion", "uid",
}

// normalize returns inputs in the form in which the API server returns them, so that equal values look equal: quantities, times,
// the stringData of Secrets as data. Inputs with unknown values, and custom resources, do not change.
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

// typed converts inputs to the Go type of their kind and back. It leaves invalid inputs to the API server.
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

// prune returns the part of an object that the shape has, too.
func prune(object, shape *unstructured.Unstructured) *unstructured.Unstructured {
	pruned, _ := difference.Prune(object.Object, shape.Object).(map[string]any)
	return &unstructured.Unstructured{Object: pruned}
}

// normalSecret moves stringData to data, encoded as the API server stores it, and encodes data in the standard encoding. It leaves
// data that is not base64 to the API server, which refuses it.
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

// normalDefinition removes what the API server drops.
func normalDefinition(inputs *unstructured.Unstructured) *unstructured.Unstructured {
	normal := inputs.DeepCopy()
	delete(normal.Object, "status")
	if preserve, found, err := unstructured.NestedBool(normal.Object, "spec", "preserveUnknownFields"); err == nil && found && !preserve {
		unstructured.RemoveNestedField(normal.Object, "spec", "preserveUnknownFields")
	}
	return normal
}
