package object

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Update applies the inputs and waits until the object is ready.
func (o *Objects) Update(ctx context.Context, request operation.Update) (operation.Live, error) {
	inputs := normalize(toObject(request.Inputs))
	if request.Preview && !o.canPreview(inputs) {
		return operation.Live{State: request.Inputs}, nil
	}
	if o.connection.Unreachable != "" {
		return operation.Live{}, o.unreachable()
	}
	oldInputs, before := parse(request.State)
	manager, err := managerOf(request.State, inputs)
	if err != nil {
		return operation.Live{}, err
	}
	client, err := o.client(inputs)
	if err != nil {
		return operation.Live{}, explainUpdate(request.URN, err)
	}
	kept := func(live *unstructured.Unstructured) operation.Live {
		return operation.Live{
			ID:    idOf(live),
			State: checkpoint(inputs, live, request.Inputs, apiVersionOf(request.State, oldInputs), manager),
		}
	}

	live, reasons, err := o.change(ctx, client, request, inputs, before.GetName(), manager)
	if err != nil {
		if request.Preview && apierrors.IsForbidden(err) {
			return operation.Live{State: request.Inputs}, nil
		}
		live, getErr := client.Get(ctx, before.GetName(), metav1.GetOptions{})
		if getErr != nil {
			return operation.Live{}, errors.Join(
				explainUpdate(request.URN, err), fmt.Errorf("unable to get cluster state: %w", getErr))
		}
		return operation.Live{}, &operation.NotReadyError{
			Live: kept(live), Reasons: reasons,
			Err: fmt.Errorf("the Kubernetes API server reported that %q failed to fully initialize or become live: %w",
				idOf(live), err),
		}
	}
	if old, _ := request.State[fieldManagerKey].V.(string); !request.Preview && old != "" && old != manager {
		err = o.relinquish(ctx, client, live, old)
	}
	return kept(live), err
}

func explainUpdate(urn resource.URN, err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("update of resource %q failed because the Kubernetes API server reported that the apiVersion for "+
			"this resource does not exist. Verify that any required CRDs have been created: %w", urn, err)
	}
	return fmt.Errorf("update of resource %q failed: %w", urn, err)
}

// change changes the object to what the inputs describe.
func (o *Objects) change(
	ctx context.Context, client dynamic.ResourceInterface, request operation.Update,
	inputs *unstructured.Unstructured, name, manager string,
) (*unstructured.Unstructured, []string, error) {
	before, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	var after *unstructured.Unstructured
	if isDefinition(inputs.GroupVersionKind()) {
		after, err = o.replaceDefinition(ctx, client, inputs, before, manager, request.Preview)
	} else {
		after, err = o.takeOverAndApply(ctx, client, inputs, before, manager, request.Preview)
	}
	if err != nil || request.Preview {
		return after, nil, err
	}
	return o.untilReady(ctx, request.URN, inputs, after, timeout(request.Seconds, inputs))
}

// replaceDefinition replaces a definition of custom resources, as kubectl replace does. An apply would keep a version that the
// inputs no longer contain.
func (o *Objects) replaceDefinition(
	ctx context.Context, client dynamic.ResourceInterface, inputs, before *unstructured.Unstructured,
	manager string, preview bool,
) (*unstructured.Unstructured, error) {
	replacement := inputs.DeepCopy()
	replacement.SetResourceVersion(before.GetResourceVersion())
	after, err := client.Update(ctx, replacement, metav1.UpdateOptions{FieldManager: manager, DryRun: dryRun(preview)})
	if err == nil && !preview {
		o.connection.Forget()
	}
	return after, err
}

func (o *Objects) takeOverAndApply(
	ctx context.Context, client dynamic.ResourceInterface, inputs, before *unstructured.Unstructured,
	manager string, preview bool,
) (*unstructured.Unstructured, error) {
	force := o.forces(inputs) || len(before.GetManagedFields()) == 0
	if preview {
		// A preview takes over no fields, so it forces the fields that this provider created.
		force = force || slices.ContainsFunc(before.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Operation == metav1.ManagedFieldsOperationUpdate && ours.Has(entry.Manager)
		})
	} else if err := o.takeOver(ctx, client, before, manager); err != nil {
		return nil, err
	}
	return o.apply(ctx, client, inputs, applied{manager: manager, force: force, preview: preview, name: before.GetName()})
}
