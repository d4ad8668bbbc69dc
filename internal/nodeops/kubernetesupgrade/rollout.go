package kubernetesupgrade

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// awaitRollout waits until the pods of workloads run with their new template, including workloads that are already as they should be: an earlier run
// may have changed them and ended while it waited. Each has a limit of its own.
func (u Upgrade) awaitRollout(ctx context.Context, objects []*unstructured.Unstructured, networked bool) error {
	for _, object := range objects {
		var check func(context.Context, *unstructured.Unstructured) error
		switch kind := object.GetKind(); {
		case kind == "DaemonSet":
			check = u.daemonSetRuns
		case kind == "Deployment" && networked: // no node takes its pods without a network plugin
			check = u.deploymentRuns
		default:
			continue
		}
		err := u.await(ctx, u.Limits.Manifests, func(ctx context.Context) error { return check(ctx, object) })
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return fmt.Errorf("waiting for %s: %w", describe(object), err)
		default:
			return fmt.Errorf("%s has not rolled out after %s (%w): see with `kubectl get pods -n kube-system -o wide` what its pods lack, mend that, then run up again; it goes on from here", describe(object), u.Limits.Manifests, err)
		}
	}
	return nil
}

func (u Upgrade) daemonSetRuns(ctx context.Context, object *unstructured.Unstructured) error {
	var set *appsv1.DaemonSet
	err := u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) (err error) {
		set, err = api.kubernetes.AppsV1().DaemonSets(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	status := set.Status
	if status.ObservedGeneration < set.Generation || status.UpdatedNumberScheduled < status.DesiredNumberScheduled || status.NumberAvailable < status.DesiredNumberScheduled {
		return errRollingOut
	}
	return nil
}

func (u Upgrade) deploymentRuns(ctx context.Context, object *unstructured.Unstructured) error {
	var deployment *appsv1.Deployment
	err := u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) (err error) {
		deployment, err = api.kubernetes.AppsV1().Deployments(object.GetNamespace()).Get(ctx, object.GetName(), metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	status, wanted := deployment.Status, int32(1) // the default of a Deployment
	if deployment.Spec.Replicas != nil {
		wanted = *deployment.Spec.Replicas
	}
	if status.ObservedGeneration < deployment.Generation || status.UpdatedReplicas < wanted || status.AvailableReplicas < wanted {
		return errRollingOut
	}
	return nil
}
