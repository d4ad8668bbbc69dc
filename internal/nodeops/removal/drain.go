package removal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// drain keeps new pods away and evicts those that are there, as PodDisruptionBudgets allow. Unlike `kubectl drain` it asks
// for no leave to lose emptyDir volumes or pods without a controller: the node goes, whatever is on it.
func (w Worker) drain(ctx context.Context, api kubernetes.Interface) error {
	if err := w.cordon(ctx, api); err != nil {
		return err
	}
	deadline := time.Now().Add(w.DrainTimeout)
	for {
		left, held, err := w.evict(ctx, api)
		switch {
		case err != nil:
			return fmt.Errorf("drain %s: %w: run up again", w.Name, err)
		case len(left) == 0:
			w.say("%s is drained", w.Name)
			return nil
		case time.Now().After(deadline):
			return w.giveUp(ctx, api, left, held)
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("drain %s: %w", w.Name, context.Cause(ctx))
		}
	}
}

// cordon marks the Node as unschedulable, if there is one.
func (w Worker) cordon(ctx context.Context, api kubernetes.Interface) error {
	_, err := api.CoreV1().Nodes().Patch(ctx, w.Name, types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cordon %s: %w: run up again", w.Name, err)
	}
	return nil
}

// evict asks once for the eviction of every pod on the node. It returns those that are still there, and those among them
// that a PodDisruptionBudget holds back.
func (w Worker) evict(ctx context.Context, api kubernetes.Interface) (left, held []corev1.Pod, err error) {
	pods, err := api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", w.Name).String(),
	})
	if err != nil {
		return nil, nil, err
	}
	for _, pod := range pods.Items {
		if !moves(pod) {
			continue
		}
		left = append(left, pod)
		if pod.DeletionTimestamp != nil {
			continue // on its way
		}
		err := api.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		})
		switch {
		case apierrors.IsTooManyRequests(err):
			held = append(held, pod)
		case err != nil && !apierrors.IsNotFound(err):
			return nil, nil, err
		}
	}
	return left, held, nil
}

// moves says whether a pod has to go: those of a DaemonSet would come back, static ones end with the node, and others
// have ended.
func moves(pod corev1.Pod) bool {
	owner := metav1.GetControllerOf(&pod)
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !static && !ended && (owner == nil || owner.Kind != "DaemonSet")
}

// giveUp deletes what is left when that is wanted, and otherwise says what it is.
func (w Worker) giveUp(ctx context.Context, api kubernetes.Interface, left, held []corev1.Pod) error {
	if !w.DeleteHeldBack {
		return &heldBackError{node: w.Name, after: w.DrainTimeout, held: names(held), left: names(left)}
	}
	var problems []error
	for _, pod := range left {
		err := api.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err))
		}
	}
	w.say("warning: %s is not drained after %s: deleted %s", w.Name, w.DrainTimeout, strings.Join(names(left), ", "))
	return errors.Join(problems...)
}

func names(pods []corev1.Pod) []string {
	list := make([]string, len(pods))
	for i, pod := range pods {
		list[i] = pod.Namespace + "/" + pod.Name
	}
	return list
}

// OverrideVariable is the environment variable by which a person lets go of pods that are held back: the removal runs when
// the node has left the inventory already, so nothing there could say it.
const OverrideVariable = "EM_INFRA_DELETE_HELD_BACK_PODS"

// heldBackError is a drain that has not ended in time (F32).
type heldBackError struct {
	node       string
	after      time.Duration
	held, left []string
}

func (e *heldBackError) Error() string {
	why, pods := "pods do not end", e.left
	if len(e.held) > 0 {
		why, pods = "PodDisruptionBudgets hold pods back", e.held
	}
	return fmt.Sprintf("%s is not drained after %s, because %s (%s): let them move, e.g. with one replica more, then run up again; or set %s=yes for that run, and they are deleted",
		e.node, e.after, why, strings.Join(e.pods(pods), ", "), OverrideVariable)
}

// pods are the first few.
func (e *heldBackError) pods(all []string) []string {
	const enough = 5
	if len(all) <= enough {
		return all
	}
	return append(all[:enough:enough], fmt.Sprintf("and %d more", len(all)-enough))
}
