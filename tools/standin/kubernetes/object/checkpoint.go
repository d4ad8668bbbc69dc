package object

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// What the state has beside the object as it was seen (checkpointObject in provider.go).
const (
	inputsKey       = "__inputs"
	apiVersionKey   = "__initialApiVersion" // of the object when it was created
	fieldManagerKey = "__fieldManager"
)

// checkpoint is the state of an object: the object as it is, its inputs, and who manages its fields. Secret is what was
// secret in given.
func checkpoint(inputs, live *unstructured.Unstructured, given resource.PropertyMap, apiVersion, manager string) resource.PropertyMap {
	state, kept := properties.FromPlain(live.Object), properties.FromPlain(inputs.Object)
	properties.MarkSecrets(state, given)
	properties.MarkSecrets(kept, given)
	state[inputsKey] = resource.NewProperty(kept)
	state[apiVersionKey] = resource.NewProperty(apiVersion)
	state[fieldManagerKey] = resource.NewProperty(manager)
	return state
}

// parse takes a state apart.
func parse(state resource.PropertyMap) (inputs, live *unstructured.Unstructured) {
	live = toObject(state)
	kept, _ := live.Object[inputsKey].(map[string]any)
	if kept == nil {
		kept = map[string]any{}
	}
	for _, key := range []string{inputsKey, apiVersionKey, fieldManagerKey} {
		delete(live.Object, key)
	}
	return &unstructured.Unstructured{Object: kept}, live
}

// apiVersionOf is that of the object's creation.
func apiVersionOf(state resource.PropertyMap, inputs *unstructured.Unstructured) string {
	if version, ok := state[apiVersionKey]; ok && version.IsString() {
		return version.StringValue()
	}
	return inputs.GetAPIVersion()
}

// managerOf is who manages the fields of an object: whom its annotation names, else who did so far, else a new one with
// a name of its own, so that two programs see it when they want the same field.
func managerOf(state resource.PropertyMap, inputs *unstructured.Unstructured) (string, error) {
	if manager := annotationOf(inputs, patchFieldManager); manager != "" {
		return manager, nil
	}
	if manager, ok := state[fieldManagerKey]; ok && manager.IsString() {
		return manager.StringValue(), nil
	}
	manager, err := resource.NewUniqueName(nil, "pulumi-kubernetes-", 0, 0, nil)
	if err != nil {
		return "", fmt.Errorf("make a name for the field manager: %w", err)
	}
	return manager, nil
}
