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
	// Returns reports whether the node stays in the cluster. If so, the lane takes its cordon back, and pods without a controller
	// stay on the node, because they survive a reboot.
	Returns bool
	// Say receives a message for each step. Required.
	Say func(format string, args ...any)
}

// drainInterval is the time between two attempts to evict the remaining pods.
const drainInterval = time.Second

// apiPatience is how long the Kubernetes API may fail without a break: an election of etcd takes seconds, the start of an API server a minute.
const apiPatience = 2 * time.Minute

// Drain cordons a node and evicts its pods, as far as PodDisruptionBudgets allow. Unlike `kubectl drain` it needs no
// permission to lose emptyDir volumes. A node without a Node has no pods. The error states which pods remain and what to do.
func (k *Kubernetes) Drain(ctx context.Context, d Drain) error {
	e := eviction{Kubernetes: k, Drain: d, began: time.Now()}
	var refused error
	err := poll.Until(ctx, drainInterval, func(ctx context.Context) (ended bool, _ error) {
		ended, refused = e.goOn(ctx)
		return ended, nil
	})
	if err != nil {
		return fmt.Errorf("drain %s: %w", d.Node, err)
	}
	return refused
}

// eviction is a drain in progress.
type eviction struct {
	*Kubernetes
	Drain
	began               time.Time
	failing             time.Time // since when the API fails without a break; zero if it works
	cordoned            bool
	toldHeld, toldFails bool
}

// goOn makes one attempt. ended reports whether the drain has ended; err is then its result.
func (e *eviction) goOn(ctx context.Context) (ended bool, err error) {
	left, held, failed := e.try(ctx)
	if failed == nil {
		e.failing = time.Time{}
	} else if e.failing.IsZero() {
		e.failing = time.Now()
	}
	switch {
	case ctx.Err() != nil:
		return false, nil // its cause is returned
	case isFinal(failed):
		return true, fmt.Errorf("drain %s: %w: run up again", e.Node, failed)
	case failed == nil && len(left) == 0:
		e.Say("%s is drained", e.Node)
		return true, nil
	case failed != nil && time.Since(e.failing) >= apiPatience && len(left) == 0:
		return true, notDrained(e.Node, apiPatience, failed)
	case time.Since(e.began) >= e.Timeout:
		return true, e.giveUp(ctx, e.Drain, left, held, failed)
	case failed != nil && !e.toldFails:
		e.toldFails = true
		e.Say("%s: the Kubernetes API fails (%v); waiting for up to %s", e.Node, failed, min(apiPatience, e.Timeout))
	case len(held) > 0 && !e.toldHeld:
		e.toldHeld = true
		e.Say("%s: PodDisruptionBudgets hold back %s; waiting for up to %s", e.Node, strings.Join(first(names(held)), ", "), e.Timeout)
	}
	return false, nil
}

// try cordons the node, and requests the evictions.
func (e *eviction) try(ctx context.Context) (left, held []podObject, err error) {
	if !e.cordoned {
		if err := e.cordon(ctx, e.Node, markOf(e.Returns)); err != nil {
			return nil, nil, err
		}
		e.cordoned = true
	}
	return e.evict(ctx, e.Drain)
}

func notDrained(node string, after time.Duration, why error) error {
	return fmt.Errorf("%s is not drained after %s, because the Kubernetes API fails (%w): mend that, then run up again", node, after, why)
}

// evict requests the eviction of every pod that has to leave, once. It returns the pods that are still there, and those that a PodDisruptionBudget
// holds back. The error is why the pods cannot be listed, or why a pod was not evicted for another reason; of several such pods, the last one.
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

// isFinal reports whether an API server would answer the same to the same request again. Any other error is temporary, as while etcd elects a leader.
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

// giveUp deletes the remaining pods if DeleteHeldBack is set. Otherwise, or if the remaining pods are not known, it returns an error that states what
// prevented the last attempt.
func (k *Kubernetes) giveUp(ctx context.Context, d Drain, left, held []podObject, last error) error {
	switch {
	case last != nil && (len(left) == 0 || !d.DeleteHeldBack):
		return notDrained(d.Node, d.Timeout, last)
	case !d.DeleteHeldBack:
		return &heldBackError{node: d.Node, after: d.Timeout, held: names(held), left: names(left)}
	}
	var deleted []podObject
	var problems []error
	for _, pod := range left {
		err := k.call(ctx, http.MethodDelete, podPath(pod), nil, nil)
		if err != nil && !isRefusal(err, http.StatusNotFound) {
			problems = append(problems, fmt.Errorf("%s is not drained after %s, because pod %s cannot be deleted (%w): mend that, then run up again", d.Node, d.Timeout, pod, err))
			continue
		}
		deleted = append(deleted, pod)
	}
	if len(deleted) > 0 {
		d.Say("warning: %s is not drained after %s: deleted %s", d.Node, d.Timeout, strings.Join(names(deleted), ", "))
	}
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
