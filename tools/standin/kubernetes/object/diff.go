package object

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/difference"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Diff compares the new inputs with the object as it was last read, limited to the properties of the old inputs. So a property that
// the cluster filled in is no change, but a property of the inputs that was changed in the cluster is one.
func (o *Objects) Diff(_ context.Context, request operation.Diff) (operation.Difference, error) {
	oldInputs, live := parse(request.State)
	oldInputs, inputs := normalize(oldInputs), normalize(toObject(request.Inputs))
	before := prune(live, oldInputs)
	if err := o.alignNamespaces(before, inputs); err != nil {
		return operation.Difference{}, err
	}
	unstructured.RemoveNestedField(before.Object, "metadata", "resourceVersion")
	if inputs.GetName() != "" {
		before.SetName(live.GetName()) // the program may now set the name that was generated before
	}

	changes := difference.Compare(before.Object, inputs.Object, o.replaceOnOf(inputs))
	changes = slices.DeleteFunc(changes, func(c operation.Change) bool { return ignored(c.Path, request.Ignored) })
	replaces := slices.ContainsFunc(changes, func(c operation.Change) bool { return c.Replaces })
	return operation.Difference{
		Changes: changes,
		// Two objects cannot have the same name. A generated name is generated again.
		DeleteBeforeReplace: replaces && isNamed(inputs) && !isSet(inputs, autonamed) &&
			inputs.GetName() == live.GetName() && inputs.GetNamespace() == live.GetNamespace(),
	}, nil
}

// alignNamespaces writes the namespace into all objects, or into none if the kind has no namespace.
func (o *Objects) alignNamespaces(objects ...*unstructured.Unstructured) error {
	namespaced, err := o.connection.IsNamespaced(objects[len(objects)-1].GroupVersionKind())
	if err != nil {
		return fmt.Errorf("API server returned error when asked if resource type %s is namespaced: %w",
			objects[len(objects)-1].GroupVersionKind(), err)
	}
	for _, object := range objects {
		metadata, ok := object.Object["metadata"].(map[string]any)
		switch {
		case !ok:
		case !namespaced:
			delete(metadata, "namespace")
		case metadata["namespace"] == nil || metadata["namespace"] == "":
			metadata["namespace"] = "default"
		}
	}
	return nil
}

func ignored(path resource.PropertyPath, all []resource.PropertyPath) bool {
	return slices.ContainsFunc(all, func(ignored resource.PropertyPath) bool { return ignored.Contains(path) })
}
