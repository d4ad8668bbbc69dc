package object

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// creator is the field manager of a creation. The first update takes over its fields.
const creator = "pulumi-kubernetes"

// Create creates an object and waits until it is ready. In a preview it returns the answer of the API server. If the API server
// cannot answer, it returns the inputs.
func (o *Objects) Create(ctx context.Context, request operation.Create) (operation.Live, error) {
	inputs := toObject(request.Inputs)
	asGiven := operation.Live{State: request.Inputs}
	if request.Preview && !o.canPreview(inputs) {
		return asGiven, nil
	}
	if o.connection.Unreachable != "" {
		return operation.Live{}, o.unreachable()
	}
	manager, err := managerOf(nil, inputs)
	if err != nil {
		return operation.Live{}, err
	}
	live, err := o.post(ctx, request, inputs, manager)
	if err != nil {
		if request.Preview && isPassedOver(err) {
			return asGiven, nil
		}
		return operation.Live{}, explainCreation(request, inputs, err)
	}
	kept := func(live *unstructured.Unstructured) operation.Live {
		return operation.Live{
			ID: idOf(live), State: checkpoint(inputs, live, request.Inputs, inputs.GetAPIVersion(), manager),
		}
	}
	if request.Preview {
		unstructured.RemoveNestedField(live.Object, "status")
		return operation.Live{State: kept(live).State}, nil
	}
	if isDefinition(inputs.GroupVersionKind()) {
		o.connection.Forget()
	}
	live, reasons, err := o.untilReady(ctx, request.URN, inputs, live, timeout(request.Seconds, inputs))
	if err != nil {
		return operation.Live{}, &operation.NotReadyError{
			Live: kept(live), Reasons: reasons,
			Err: fmt.Errorf("resource %q was successfully created, but the Kubernetes API server reported that it failed "+
				"to fully initialize or become live: %w", request.URN, err),
		}
	}
	return kept(live), nil
}

// canPreview reports whether the API server can answer a preview.
func (o *Objects) canPreview(inputs *unstructured.Unstructured) bool {
	if properties.Unknown(inputs.Object) || o.connection.Unreachable != "" {
		return false
	}
	_, err := o.connection.Mapping(inputs.GroupVersionKind())
	return err == nil
}

func (o *Objects) unreachable() error {
	return fmt.Errorf("configured Kubernetes cluster is unreachable: %s", o.connection.Unreachable)
}

// post creates the object. It retries if the kind or the namespace does not exist, because it may still be created.
func (o *Objects) post(
	ctx context.Context, request operation.Create, inputs *unstructured.Unstructured, manager string,
) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, o.retries, func(ctx context.Context) (bool, error) {
		live, last = o.postOnce(ctx, inputs, manager, request.Preview)
		switch {
		case last == nil:
			return true, nil
		case request.Preview && isMissingNamespace(last):
			return false, last // in a preview the namespace is never created
		case apierrors.IsNotFound(last) || meta.IsNoMatchError(last):
			o.log.Status(ctx, diag.Info, request.URN, fmt.Sprintf("Retry; creation failed: %v", last))
			return false, nil
		}
		return false, last
	})
	if last == nil {
		last = err
	}
	return live, last
}

func (o *Objects) postOnce(
	ctx context.Context, inputs *unstructured.Unstructured, manager string, preview bool,
) (*unstructured.Unstructured, error) {
	client, err := o.client(inputs)
	if err != nil {
		return nil, err
	}
	if cluster.On(o.connection.Settings.UpsertExistingObjects) {
		return o.apply(ctx, client, inputs, applied{
			manager: manager, force: preview || o.forces(inputs), preview: preview, name: inputs.GetName(),
		})
	}
	return client.Create(ctx, inputs, metav1.CreateOptions{FieldManager: creator, DryRun: dryRun(preview)})
}

func dryRun(preview bool) []string {
	if preview {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func isMissingNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsNotFound(err) &&
		status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// isPassedOver reports whether a preview continues without the API server's answer. It does if the user may not ask, if a webhook
// does not support dry runs, if the namespace does not exist yet, or if the object exists but may be deleted by the time of the
// update.
func isPassedOver(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) || isMissingNamespace(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// explainCreation returns the error that the official provider returns.
func explainCreation(request operation.Create, inputs *unstructured.Unstructured, err error) error {
	switch kind := inputs.GroupVersionKind(); {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("creation of resource %q with kind %s failed because the Kubernetes API server reported that the "+
			"apiVersion for this resource does not exist. Verify that any required CRDs have been created: %w",
			request.URN, kind.GroupVersion().String()+"/"+kind.Kind, err)
	case apierrors.IsAlreadyExists(err):
		err = fmt.Errorf("%w\n\nThe resource already exists in the cluster. Import it, or set upsertExistingObjects on the "+
			"provider to take it over", err)
	}
	return fmt.Errorf("resource %q was not successfully created by the Kubernetes API server: %w", request.URN, err)
}
