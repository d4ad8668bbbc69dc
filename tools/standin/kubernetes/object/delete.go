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
	"k8s.io/client-go/dynamic"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

var errCannotDelete = errors.New("configured Kubernetes cluster is unreachable. If the cluster was deleted, you can " +
	"remove this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE environment " +
	"variable set to \"true\"")

// Delete deletes an object, after the objects that it owns, and waits until it is gone. It succeeds if the object or its kind does
// not exist.
func (o *Objects) Delete(ctx context.Context, request operation.Delete) error {
	if o.connection.Unreachable != "" {
		o.log.Log(ctx, diag.Warning, request.URN, o.unreachable().Error())
		if !cluster.On(o.connection.Settings.DeleteUnreachable) {
			return errCannotDelete
		}
		o.log.Log(ctx, diag.Info, request.URN, "configured Kubernetes cluster is unreachable and the `deleteUnreachable` "+
			"option is enabled. Deleting the unreachable resource from Pulumi state")
		return nil
	}
	inputs, live := parse(request.State)
	client, err := o.client(live)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	_, name := parseID(request.ID)
	policy := propagation(inputs)
	err = client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if isSet(inputs, skipAwait) && mayGoLater[live.GroupVersionKind().GroupKind().String()] {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout(request.Seconds, inputs))
	defer cancel()
	return o.untilGone(ctx, request, client, name)
}

// mayGoLater are the kinds for which skipAwait applies to the deletion, too (allowsSkipAwaitWithDelete in
// provider/pkg/metadata/overrides.go).
var mayGoLater = map[string]bool{
	"Namespace": true, "Pod": true, "ReplicationController": true,
	"DaemonSet.apps": true, "Deployment.apps": true, "StatefulSet.apps": true, "Job.batch": true,
}

func (o *Objects) untilGone(
	ctx context.Context, request operation.Delete, client dynamic.ResourceInterface, name string,
) error {
	var last *unstructured.Unstructured
	err := o.poll(ctx, func() (bool, error) {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err == nil {
			last = live
		}
		return false, nil // a failed request is repeated later
	})
	if err == nil {
		return nil
	}
	if last != nil && len(last.GetFinalizers()) > 0 {
		o.log.Log(ctx, diag.Warning, request.URN, fmt.Sprintf(
			"finalizers might be preventing deletion (%s)", strings.Join(last.GetFinalizers(), ", ")))
	}
	return fmt.Errorf("%q was deleted, but still exists: %w", name, err)
}
