package object

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Check fills in the name and the namespace. It returns a failure for each property that the official SDK does not have.
func (o *Objects) Check(ctx context.Context, request operation.Check) (operation.Checked, error) {
	if o.connection.Unreachable != "" && cluster.On(o.connection.Settings.SkipUpdateUnreachable) {
		o.log.Log(ctx, diag.Warning, request.URN,
			"Cluster is unreachable but skipUpdateUnreachable flag is set to true, skipping...")
		return operation.Checked{Inputs: request.Old}, nil
	}
	kind, err := kindOf(request.URN)
	if err != nil {
		return operation.Checked{}, err
	}
	old, inputs := toObject(request.Old), normalize(toObject(request.New))
	failures := notServed(kind, inputs)
	if len(failures) == 0 {
		failures = notInSchema(kind, toObject(request.New))
	}
	if len(failures) > 0 {
		return operation.Checked{Inputs: request.New, Failures: failures}, nil
	}
	if err := name(request, old, inputs); err != nil {
		return operation.Checked{}, err
	}
	if err := o.setNamespace(kind, inputs); err != nil {
		return operation.Checked{}, err
	}
	checked := properties.FromPlain(inputs.Object)
	properties.MarkSecrets(checked, request.New)
	return operation.Checked{Inputs: checked}, nil
}

// notServed returns a failure for what the official provider supports and the stand-in does not. Without it, users would take the
// missing error for support.
func notServed(kind schema.GroupVersionKind, inputs *unstructured.Unstructured) []operation.Failure {
	refuse := func(property, reason string) []operation.Failure {
		return []operation.Failure{{Property: property, Reason: reason}}
	}
	patched := kind
	patched.Kind = strings.TrimSuffix(kind.Kind, "Patch")
	switch {
	case patched != kind && ownKinds.Recognizes(patched):
		return refuse("", "the stand-in serves no Patch resources: use the official provider for "+kind.Kind)
	case strings.HasSuffix(kind.Kind, "List") && ownKinds.Recognizes(kind):
		return refuse("", "list resources cannot be created: register the objects of the list one by one")
	case inputs.GetGenerateName() != "" && inputs.GetName() == "":
		return refuse("metadata.generateName", "the `.metadata.generateName` field is not supported in Server-Side Apply mode")
	case annotationOf(inputs, replaceUnready) != "":
		return refuse(`metadata.annotations["`+replaceUnready+`"]`, "the stand-in does not know this annotation: take it away")
	}
	return nil
}

// notInSchema returns a failure for each property that Kubernetes' own kinds do not have. The official schema is made from the same
// definitions, so the SDK's types do not have such a property either. A custom resource may have any property.
func notInSchema(kind schema.GroupVersionKind, inputs *unstructured.Unstructured) []operation.Failure {
	object, err := ownKinds.New(kind)
	if err != nil {
		return nil
	}
	known, _ := properties.Blank(inputs.Object).(map[string]any)
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(known, object, true)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil // the API server refuses inputs of wrong types, with a better message
	}
	var failures []operation.Failure
	for _, problem := range strict.Errors() {
		failures = append(failures, operation.Failure{
			Reason: fmt.Sprintf("%v: the official schema has no such property of %s", problem, kind.Kind),
		})
	}
	return failures
}

// name gives a name to an object without one. It is the old name if Pulumi generated that, otherwise a new one.
func name(request operation.Check, old, inputs *unstructured.Unstructured) error {
	if isNamed(inputs) {
		return nil
	}
	made := request.Naming.Proposed
	switch {
	case len(old.Object) > 0 && !isSet(old, autonamed):
		return nil
	case len(old.Object) > 0:
		made = old.GetName()
	case request.Naming.Disabled:
		return errors.New("autonaming is disabled, resource requires the .metadata.name field to be set")
	case made == "":
		var err error
		if made, err = resource.NewUniqueName(request.Naming.Seed, request.URN.Name()+"-", 0, 0, nil); err != nil {
			return fmt.Errorf("make a name for %s: %w", request.URN.Name(), err)
		}
	}
	inputs.SetName(made)
	annotate(inputs, autonamed, "true")
	return nil
}

// isNamed reports whether an object has a name, which may still be unknown.
func isNamed(inputs *unstructured.Unstructured) bool {
	metadata, ok := inputs.Object["metadata"].(map[string]any)
	if !ok {
		return properties.Unknown(inputs.Object["metadata"])
	}
	return inputs.GetName() != "" || properties.Unknown(metadata["name"])
}

// setNamespace gives an object without a namespace the connection's namespace, if its kind has namespaces.
func (o *Objects) setNamespace(kind schema.GroupVersionKind, inputs *unstructured.Unstructured) error {
	metadata, ok := inputs.Object["metadata"].(map[string]any)
	if !ok || metadata["namespace"] != nil || o.connection.Namespace == "" {
		return nil
	}
	namespaced, err := o.connection.IsNamespaced(kind)
	if err != nil {
		return fmt.Errorf("API server returned error when asked if resource type %s is namespaced: %w", kind, err)
	}
	if namespaced {
		inputs.SetNamespace(o.connection.Namespace)
	}
	return nil
}
