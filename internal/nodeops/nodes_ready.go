package nodeops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Awaited is what has to be ready.
type Awaited struct {
	// Server is where clients reach the Kubernetes API, e.g. https://192.168.20.10:6443; empty for any control plane's own
	// address. The virtual address of a cluster is there a while after etcd, and after a change of it.
	Server string
	// Nodes are the names of Nodes; none for the API alone.
	Nodes []string
}

// WaitUntilReady returns when the Kubernetes API answers and the Nodes are Ready. When ctx ends, the error is one sentence
// that says what was missing and what to do; it wraps the context's. It is [ErrTalosconfig] when there is nothing to wait
// with.
func WaitUntilReady(ctx context.Context, talosconfig []byte, awaited Awaited) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := errors.New("no answer yet")
	for {
		err := nodesReady(ctx, talosconfig, awaited)
		if err == nil || errors.Is(err, ErrTalosconfig) {
			return err
		}
		// What was once known of the Nodes says more than that somebody did not answer just now.
		if ctx.Err() == nil && (isUnready(err) || !isUnready(last)) {
			last = err
		}
		select {
		case <-ctx.Done():
			return notReady(ctx, last)
		case <-ticker.C:
		}
	}
}

// unreadyError is what the Nodes lack, as far as they said.
type unreadyError struct{ lacks []string }

func (e *unreadyError) Error() string { return strings.Join(e.lacks, "; ") }

func isUnready(err error) bool {
	var nodes *unreadyError
	return errors.As(err, &nodes)
}

func nodesReady(ctx context.Context, talosconfig []byte, awaited Awaited) error {
	api, err := ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return err
	}
	defer api.Close()
	if awaited.Server != "" {
		if err := api.at(awaited.Server).call(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
			return fmt.Errorf("%s: %w", awaited.Server, err)
		}
	}
	if len(awaited.Nodes) == 0 {
		return nil
	}
	var list json.RawMessage
	if err := api.call(ctx, http.MethodGet, "/api/v1/nodes", nil, &list); err != nil {
		return fmt.Errorf("list of Nodes: %w", err)
	}
	return unready(list, awaited.Nodes)
}

// unready says which of the Nodes of a NodeList are not there or not Ready, and why in the kubelet's own words.
func unready(list json.RawMessage, names []string) error {
	var body struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
	}
	if err := json.Unmarshal(list, &body); err != nil {
		return fmt.Errorf("list of Nodes: %w", err)
	}
	lacking := make(map[string]string, len(names))
	for _, name := range names {
		lacking[name] = "Kubernetes has no Node " + name
	}
	for _, item := range body.Items {
		name := item.Metadata.Name
		if _, asked := lacking[name]; !asked {
			continue
		}
		lacking[name] = fmt.Sprintf("Node %s has not reported yet", name)
		for _, condition := range item.Status.Conditions {
			switch {
			case condition.Type != "Ready":
			case condition.Status == "True":
				delete(lacking, name)
			default:
				lacking[name] = fmt.Sprintf("Node %s is not Ready (%s)", name, cmp.Or(condition.Message, "no reason given"))
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	problem := &unreadyError{}
	for _, name := range slices.Compact(slices.Clone(names)) {
		if lack, lacks := lacking[name]; lacks {
			problem.lacks = append(problem.lacks, lack)
		}
	}
	return problem
}

// notReady says what was missing last and what to do.
func notReady(ctx context.Context, last error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("waiting for Kubernetes: %w", context.Cause(ctx))
	}
	if isUnready(last) {
		return &lateError{what: last.Error(), remedy: "see that the cluster has a network plugin (kubernetes.cni), then run up again; it goes on from here"}
	}
	return &lateError{what: "the Kubernetes API does not answer (" + oneLine(last) + ")", remedy: "look at the control planes with `talosctl health`, then run up again; it goes on from here"}
}

// lateError is one sentence that ends with what to do, about something that took too long.
type lateError struct{ what, remedy string }

func (e *lateError) Error() string { return e.what + ": " + e.remedy }

func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// oneLine is an error of several lines as one clause.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
