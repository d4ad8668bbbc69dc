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

// Drain describes how the pods of a node are evicted.
type Drain struct {
	// Node is the name of the Kubernetes Node. Required.
	Node string
	// Timeout is the longest time to wait for PodDisruptionBudgets. Default: 0, one try.
	Timeout time.Duration
	// DeleteHeldBack deletes the pods that remain after Timeout. Without it the drain fails.
	DeleteHeldBack bool
	// Returns reports whether the node stays in the cluster. If so, its cordon is marked, so that a run takes it back, and
	// pods without a controller stay on the node, because they survive a reboot.
	Returns bool
	// Say receives a message for each step. Required.
	Say func(format string, args ...any)
}

// drainInterval is the time between two attempts to evict the remaining pods.
const drainInterval = time.Second

// Drain cordons a node and evicts its pods, as far as PodDisruptionBudgets allow. Unlike `kubectl drain` it needs no
// permission to lose emptyDir volumes. A node without a Node has no pods. The error states which pods remain and what to do.
func (k *Kubernetes) Drain(ctx context.Context, d Drain) error {
	began, told, cordoned := time.Now(), false, false
	var refused error
	err := poll.Until(ctx, drainInterval, func(ctx context.Context) (bool, error) {
		var left, held []podObject
		var err error
		if !cordoned {
			err = k.cordon(ctx, d.Node, d.Returns)
			cordoned = err == nil
		}
		if cordoned {
			left, held, err = k.evict(ctx, d)
		}
		switch {
		case ctx.Err() != nil: // its cause is returned
		case isFinal(err):
			refused = fmt.Errorf("drain %s: %w: run up again", d.Node, err)
			return true, nil
		case err == nil && len(left) == 0:
			d.Say("%s is drained", d.Node)
			return true, nil
		case time.Since(began) >= d.Timeout:
			refused = k.giveUp(ctx, d, left, held, err)
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

// evict requests the eviction of every pod that has to leave, once. It returns the pods that are still there, and those that
// a PodDisruptionBudget holds back. The error is why there is no list, or why the last of other pods was not evicted.
func (k *Kubernetes) evict(ctx context.Context, d Drain) (left, held []podObject, problem error) {
	var list podList
	query := url.Values{"fieldSelector": {"spec.nodeName=" + d.Node}}
	if err := k.call(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), nil, &list); err != nil {
		return nil, nil, fmt.Errorf("list of its pods: %w", err)
	}
	for _, pod := range list.Items {
		if !d.moves(pod) {
			continue
		}
		left = append(left, pod)
		if pod.Metadata.DeletionTimestamp != "" {
			continue // it is being deleted
		}
		err := k.call(ctx, http.MethodPost, podPath(pod)+"/eviction", object{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata": object{"namespace": pod.Metadata.Namespace, "name": pod.Metadata.Name},
		}, nil)
		switch {
		case isRefusal(err, http.StatusTooManyRequests):
			held = append(held, pod)
		case isFinal(err):
			return left, held, fmt.Errorf("pod %s: %w", pod, err)
		case err != nil && !isRefusal(err, http.StatusNotFound):
			problem = fmt.Errorf("pod %s: %w", pod, err)
		}
	}
	return left, held, problem
}

// isFinal reports whether an API server would answer the same to the same request again. Any other error is passing, as while etcd
// elects a leader.
func isFinal(err error) bool {
	return isRefusal(err, http.StatusUnauthorized) || isRefusal(err, http.StatusForbidden) || isRefusal(err, http.StatusUnprocessableEntity)
}

// mirrorAnnotation marks the mirror pod of a static pod (k8s.io/api/core/v1, MirrorPodAnnotationKey).
const mirrorAnnotation = "kubernetes.io/config.mirror"

// moves reports whether a pod has to leave the node. A DaemonSet would recreate its pods on the same node, static pods end
// with the node, and completed pods do not run.
func (d Drain) moves(pod podObject) bool {
	_, static := pod.Metadata.Annotations[mirrorAnnotation]
	ended := pod.Status.Phase == "Succeeded" || pod.Status.Phase == "Failed"
	controller := pod.controller()
	return !static && !ended && controller != "DaemonSet" && (controller != "" || !d.Returns)
}

// giveUp deletes the remaining pods if DeleteHeldBack is set. Otherwise, and where they are not known, it returns an error with what
// has prevented the last attempt.
func (k *Kubernetes) giveUp(ctx context.Context, d Drain, left, held []podObject, last error) error {
	switch {
	case last != nil && (len(left) == 0 || !d.DeleteHeldBack):
		return fmt.Errorf("%s is not drained after %s, because the Kubernetes API fails (%w): mend that, then run up again", d.Node, d.Timeout, last)
	case !d.DeleteHeldBack:
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

// OverrideVariable is the environment variable that allows a run to delete pods that are held back. It applies to one run, so
// it is not part of the inventory.
const OverrideVariable = "EM_INFRA_DELETE_HELD_BACK_PODS"

// heldBackError is returned for a drain that did not finish in time (F32).
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

// first returns the first five names and the number of the others.
func first(all []string) []string {
	const enough = 5
	if len(all) <= enough {
		return all
	}
	return append(all[:enough:enough], fmt.Sprintf("and %d more", len(all)-enough))
}
