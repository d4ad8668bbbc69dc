package accounttokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// restartedAt is the annotation with which `kubectl rollout restart` makes a new revision of a workload.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// workload is a Deployment, a DaemonSet or a StatefulSet.
type workload struct {
	kind     string
	meta     metav1.ObjectMeta
	template corev1.PodTemplateSpec
	// byHand reports whether its pods are replaced only when a person does something: deletes them, or ends a pause.
	byHand bool
	// left are those of its pods that are not replaced, although others are. Default: empty, none.
	left string
	// rolled reports whether all of its pods run with the present template.
	rolled bool
}

func (w workload) String() string { return w.kind + " " + w.meta.Namespace + "/" + w.meta.Name }

// Restarted is what a restart has done.
type Restarted struct {
	// Workloads is how many have new pods.
	Workloads int
	// Left are those whose pods are replaced only when a person deletes them or ends a pause: KIND NAMESPACE/NAME, sorted. Of a StatefulSet
	// with a partition, these are the pods below it.
	Left []string
}

// Restart has the workloads of namespaces make new pods, as `kubectl rollout restart` does, and waits until they run. One that was restarted
// for the same time before is only waited for.
func Restart(ctx context.Context, api kubernetes.Interface, namespaces []string, at time.Time, limit time.Duration) (Restarted, error) {
	var result Restarted
	stamp := at.UTC().Format(time.RFC3339)
	for _, namespace := range namespaces {
		found, err := workloads(ctx, api, namespace)
		if err != nil {
			return result, err
		}
		for _, one := range found {
			if one.byHand {
				result.Left = append(result.Left, one.String())
				continue
			}
			if one.left != "" {
				result.Left = append(result.Left, one.String()+" ("+one.left+")")
			}
			result.Workloads++
			if one.template.Annotations[restartedAt] == stamp {
				continue
			}
			if err := restart(ctx, api, one, stamp); err != nil {
				return result, fmt.Errorf("restart %s: %w", one, err)
			}
		}
	}
	slices.Sort(result.Left)
	return result, rolledOut(ctx, api, namespaces, limit)
}

func restart(ctx context.Context, api kubernetes.Interface, one workload, stamp string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{restartedAt: stamp}},
	}}})
	if err != nil {
		return err
	}
	apps, name := api.AppsV1(), one.meta.Name
	switch one.kind {
	case "Deployment":
		_, err = apps.Deployments(one.meta.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	case "DaemonSet":
		_, err = apps.DaemonSets(one.meta.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	default:
		_, err = apps.StatefulSets(one.meta.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	}
	return err
}

func rolledOut(ctx context.Context, api kubernetes.Interface, namespaces []string, limit time.Duration) error {
	return within(ctx, limit, func(ctx context.Context) error {
		for _, namespace := range namespaces {
			found, err := workloads(ctx, api, namespace)
			if err != nil {
				return err
			}
			for _, one := range found {
				if !one.byHand && !one.rolled {
					return fmt.Errorf("%s has not rolled out: `kubectl get pods -n %s -o wide` shows what its pods lack", one, one.meta.Namespace)
				}
			}
		}
		return nil
	})
}

// workloads returns those of a namespace; none if there is no such namespace.
func workloads(ctx context.Context, api kubernetes.Interface, namespace string) ([]workload, error) {
	var found []workload
	deployments, err := api.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Deployments of %s: %w", namespace, err)
	}
	for _, d := range deployments.Items {
		wanted := wantedReplicas(d.Spec.Replicas)
		found = append(found, workload{kind: "Deployment", meta: d.ObjectMeta, template: d.Spec.Template, byHand: d.Spec.Paused,
			rolled: d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= wanted &&
				d.Status.AvailableReplicas >= wanted && d.Status.Replicas <= d.Status.UpdatedReplicas})
	}
	sets, setsErr := api.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
	stateful, statefulErr := api.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err := errors.Join(setsErr, statefulErr); err != nil {
		return nil, fmt.Errorf("list the DaemonSets and StatefulSets of %s: %w", namespace, err)
	}
	for _, d := range sets.Items {
		found = append(found, workload{kind: "DaemonSet", meta: d.ObjectMeta, template: d.Spec.Template,
			byHand: d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType,
			rolled: d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedNumberScheduled >= d.Status.DesiredNumberScheduled &&
				d.Status.NumberAvailable >= d.Status.DesiredNumberScheduled})
	}
	for _, s := range stateful.Items {
		wanted := wantedReplicas(s.Spec.Replicas)
		first, left := firstUpdated(s.Spec.UpdateStrategy), ""
		if first > 0 && wanted > 0 {
			left = "pods below the partition"
		}
		updated := max(0, wanted-first)
		found = append(found, workload{kind: "StatefulSet", meta: s.ObjectMeta, template: s.Spec.Template, left: left,
			byHand: s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
			rolled: s.Status.ObservedGeneration >= s.Generation && s.Status.UpdatedReplicas >= updated && s.Status.AvailableReplicas >= wanted})
	}
	return found, nil
}

// firstUpdated returns the partition of a StatefulSet: its pods with a lower number keep the former template.
func firstUpdated(strategy appsv1.StatefulSetUpdateStrategy) int32 {
	if strategy.RollingUpdate == nil || strategy.RollingUpdate.Partition == nil {
		return 0
	}
	return *strategy.RollingUpdate.Partition
}

// wantedReplicas returns the number of pods that a workload wants; 1 is the default.
func wantedReplicas(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
