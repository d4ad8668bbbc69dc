package object

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Read reads an object. For a refresh, the inputs are the properties that the old inputs have. For an import, they are all
// properties. An object whose kind does not exist is gone, too. The caller handles an unreachable cluster.
func (o *Objects) Read(ctx context.Context, request operation.Read) (operation.Live, error) {
	kept, last := parse(request.State)
	oldInputs := toObject(request.Inputs)
	if len(oldInputs.Object) == 0 {
		oldInputs = kept
	}
	oldInputs = normalize(oldInputs)
	isImport := oldInputs.GetKind() == ""
	wanted, err := identity(request, oldInputs, last)
	if err != nil {
		return operation.Live{}, err
	}
	live, err := o.get(ctx, wanted)
	if err != nil || live == nil {
		return operation.Live{}, err
	}
	inputs := prune(live, oldInputs)
	if isImport {
		inputs = importedInputs(live)
	}
	manager, err := managerOf(request.State, oldInputs)
	if err != nil {
		return operation.Live{}, err
	}
	seen := operation.Live{
		ID: request.ID, Inputs: properties.FromPlain(inputs.Object),
		State: checkpoint(inputs, live, request.Inputs, apiVersionOf(request.State, wanted), manager),
	}
	properties.MarkSecrets(seen.Inputs, request.Inputs)
	if isImport || isSet(oldInputs, skipAwait) {
		return seen, nil
	}
	if verdict := judge(live); !verdict.ready {
		return operation.Live{}, &operation.NotReadyError{
			Live: seen, Reasons: []string{verdict.message},
			Err: fmt.Errorf("Resource '%s' was created but failed to initialize", live.GetName()), //nolint:staticcheck // as the official provider says it
		}
	}
	return seen, nil
}

// identity returns the kind, the namespace and the name of the object to read.
func identity(request operation.Read, oldInputs, last *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, err := kindOf(request.URN)
	if err != nil {
		return nil, err
	}
	for _, known := range []*unstructured.Unstructured{oldInputs, last} {
		if known.GetKind() != "" {
			kind = known.GroupVersionKind()
			break
		}
	}
	namespace, name := parseID(request.ID)
	if name == "" {
		return nil, fmt.Errorf(
			"failed to read resource because of a failure to parse resource name from request ID: %s", request.ID)
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	wanted.SetGroupVersionKind(kind)
	wanted.SetNamespace(namespace)
	wanted.SetName(name)
	return wanted, nil
}

// get returns the object; nil if it does not exist.
func (o *Objects) get(ctx context.Context, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, err := o.client(wanted)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := client.Get(ctx, wanted.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// importedInputs returns everything in an object that can be an input.
func importedInputs(live *unstructured.Unstructured) *unstructured.Unstructured {
	inputs := live.DeepCopy()
	delete(inputs.Object, "status")
	for _, name := range readOnly {
		unstructured.RemoveNestedField(inputs.Object, "metadata", name)
	}
	for _, name := range []string{
		"deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration",
	} {
		unstructured.RemoveNestedField(inputs.Object, "metadata", "annotations", name)
	}
	return inputs
}
