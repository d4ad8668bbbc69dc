package object

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// The keys that the state has in addition to the object as it was last read (checkpointObject in provider.go).
const (
	inputsKey       = "__inputs"
	apiVersionKey   = "__initialApiVersion" // of the object when it was created
	fieldManagerKey = "__fieldManager"
)

// checkpoint returns the state of an object: the live object, its inputs, and the manager of its fields. Everything that is secret in given is secret
// in it.
func checkpoint(inputs, live *unstructured.Unstructured, given resource.PropertyMap, apiVersion, manager string) resource.PropertyMap {
	state, kept := properties.FromPlain(live.Object), properties.FromPlain(inputs.Object)
	properties.MarkSecrets(state, given)
	properties.MarkSecrets(kept, given)
	state[inputsKey] = resource.NewProperty(kept)
	state[apiVersionKey] = resource.NewProperty(apiVersion)
	state[fieldManagerKey] = resource.NewProperty(manager)
	return state
}

// parse splits a state into the inputs and the live object.
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

// apiVersionOf returns the API version with which the object was created.
func apiVersionOf(state resource.PropertyMap, inputs *unstructured.Unstructured) string {
	if version, ok := state[apiVersionKey]; ok && version.IsString() {
		return version.StringValue()
	}
	return inputs.GetAPIVersion()
}

// managerOf returns the field manager of an object: the one of its annotation, else the one of the state, else a new one. A new
// manager has a unique name, so that two programs that set the same field get a conflict.
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
