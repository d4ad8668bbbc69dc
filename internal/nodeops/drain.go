package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/poll"
)

// Drain is how the pods of a node are moved.
type Drain struct {
	// Node is the name of the Kubernetes Node. Required.
	Node string
	// Timeout is how long PodDisruptionBudgets may hold pods back. Default: 0, one try.
	Timeout time.Duration
	// DeleteHeldBack deletes the pods that are still held back then; without it the drain fails.
	DeleteHeldBack bool
	// Returns says that the node comes back: its cordon is marked as one that a run takes back, and pods that nobody would
	// make anew stay on it, since they outlast a reboot.
	Returns bool
	// Say is told what is done. Required.
	Say func(format string, args ...any)
}

// drainInterval is the time between two tries to evict what is left.
const drainInterval = time.Second

// Drain keeps new pods from a node and evicts those that are there, as PodDisruptionBudgets allow. Unlike `kubectl drain` it
// asks for no leave to lose emptyDir volumes. A node without a Node has no pods. The error says what stays and what to do.
func (k *Kubernetes) Drain(ctx context.Context, d Drain) error {
	if err := k.cordon(ctx, d.Node, d.Returns); err != nil {
		return fmt.Errorf("cordon %s: %w: run up again", d.Node, err)
	}
	deadline := time.Now().Add(d.Timeout)
	told := false
	var refused error
	err := poll.Until(ctx, drainInterval, func(ctx context.Context) (bool, error) {
		left, held, err := k.evict(ctx, d)
		switch {
		case err != nil:
			refused = fmt.Errorf("drain %s: %w: run up again", d.Node, err)
			return true, nil
		case len(left) == 0:
			d.Say("%s is drained", d.Node)
			return true, nil
		case !time.Now().Before(deadline):
			refused = k.giveUp(ctx, d, left, held)
			return true, nil
		case len(held) > 0 && !told:
			told = true
			d.Say("%s: PodDisruptionBudgets hold back %s; waiting for up to %s", d.Node, strings.Join(first(names(held)), ", "), d.Timeout)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("drain %s: %w", d.Node, err)
	}
	return refused
}

// evict asks once for the eviction of every pod that has to go. It returns those that are still there, and those among
// them that a PodDisruptionBudget holds back.
func (k *Kubernetes) evict(ctx context.Context, d Drain) (left, held []podObject, err error) {
	var list podList
	query := url.Values{"fieldSelector": {"spec.nodeName=" + d.Node}}
	if err := k.call(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), nil, &list); err != nil {
		return nil, nil, err
	}
	for _, pod := range list.Items {
		if !d.moves(pod) {
			continue
		}
		left = append(left, pod)
		if pod.Metadata.DeletionTimestamp != "" {
			continue // on its way
		}
		err := k.call(ctx, http.MethodPost, podPath(pod)+"/eviction", object{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata": object{"namespace": pod.Metadata.Namespace, "name": pod.Metadata.Name},
		}, nil)
		switch {
		case isRefusal(err, http.StatusTooManyRequests):
			held = append(held, pod)
		case err != nil && !isRefusal(err, http.StatusNotFound):
			return nil, nil, err
		}
	}
	return left, held, nil
}

// mirrorAnnotation marks the API's picture of a static pod (k8s.io/api/core/v1, MirrorPodAnnotationKey).
const mirrorAnnotation = "kubernetes.io/config.mirror"

// moves reports whether a pod has to go: those of a DaemonSet would come back, static ones end with the node, and others
// have ended.
func (d Drain) moves(pod podObject) bool {
	_, static := pod.Metadata.Annotations[mirrorAnnotation]
	ended := pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed"
	controller := pod.controller()
	return !static && !ended && controller != "DaemonSet" && (controller != "" || !d.Returns)
}

// giveUp deletes what is left when that is wanted, and otherwise says what it is.
func (k *Kubernetes) giveUp(ctx context.Context, d Drain, left, held []podObject) error {
	if !d.DeleteHeldBack {
		return &heldBackError{node: d.Node, after: d.Timeout, held: names(held), left: names(left)}
	}
	var problems []error
	for _, pod := range left {
		err := k.call(ctx, http.MethodDelete, podPath(pod), nil, nil)
		if err != nil && !isRefusal(err, http.StatusNotFound) {
			problems = append(problems, fmt.Errorf("delete pod %s: %w", pod, err))
		}
	}
	d.Say("warning: %s is not drained after %s: deleted %s", d.Node, d.Timeout, strings.Join(names(left), ", "))
	return errors.Join(problems...)
}

func podPath(pod podObject) string {
	return "/api/v1/namespaces/" + pod.Metadata.Namespace + "/pods/" + pod.Metadata.Name
}

func names(pods []podObject) []string {
	list := make([]string, len(pods))
	for i, pod := range pods {
		list[i] = pod.String()
	}
	return list
}

// OverrideVariable is the environment variable by which a person lets go of pods that are held back: it is a matter of one
// run, so that nothing in the inventory could say it.
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
		e.node, e.after, why, strings.Join(first(pods), ", "), OverrideVariable)
}

// first are the first few of many names.
func first(all []string) []string {
	const enough = 5
	if len(all) <= enough {
		return all
	}
	return append(all[:enough:enough], fmt.Sprintf("and %d more", len(all)-enough))
}
