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

	"github.com/em-infra/em-infra/internal/poll"
)

// Awaited is what has to be ready.
type Awaited struct {
	// Server is where clients reach the Kubernetes API, e.g. https://192.168.20.10:6443; empty for any control plane's own
	// address. The virtual address of a cluster is there a while after etcd, and after a change of it.
	Server string
	// Nodes are the names of Nodes; none for the API alone.
	Nodes []string
	// Limit is how long the wait may take. Default: 0, as long as its context.
	Limit time.Duration
	// Say is told what is waited for, and for how long at most, whenever that is another thing than before. Default: nil,
	// nobody.
	Say func(string)
}

// endpointPatience is how long the endpoint may lead nowhere while the control planes answer: a virtual address is moved within
// a minute (talos v1.12.4, network/operator/vip.go), and a load balancer looks that often.
const endpointPatience = 3 * time.Minute

// WaitUntilReady returns when the Kubernetes API answers and the Nodes are Ready. When ctx ends, the error is one sentence
// that says what was missing and what to do; it wraps the context's. An endpoint that leads nowhere is not waited for until
// then. It is [ErrTalosconfig] when there is nothing to wait with.
func WaitUntilReady(ctx context.Context, talosconfig []byte, awaited Awaited) error {
	if awaited.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, awaited.Limit)
		defer cancel()
	}
	return waitUntilReady(ctx, awaited, func(ctx context.Context) error { return nodesReady(ctx, talosconfig, awaited) })
}

func waitUntilReady(ctx context.Context, awaited Awaited, look func(context.Context) error) error {
	last := errors.New("no answer yet")
	var said string
	var astray time.Time // since when the endpoint leads nowhere
	var hopeless error
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := look(ctx)
		if err == nil || errors.Is(err, ErrTalosconfig) {
			hopeless = err
			return true, nil
		}
		if ctx.Err() != nil {
			return false, nil
		}
		var endpoint *endpointError
		switch {
		case !errors.As(err, &endpoint):
			astray = time.Time{}
		case astray.IsZero():
			astray = time.Now()
		case time.Since(astray) >= endpointPatience:
			hopeless = endpoint.leadsNowhere()
			return true, nil
		}
		if state := awaited.state(err); state != said {
			said = state
			awaited.say(state)
		}
		// What was once known of the Nodes says more than that somebody did not answer just now.
		if isUnready(err) || !isUnready(last) {
			last = err
		}
		return false, nil
	}) != nil {
		return notReady(ctx, last)
	}
	return hopeless
}

// endpointError says that the API answers at a control plane, and not where clients look for it.
type endpointError struct {
	server string
	cause  error
}

func (e *endpointError) Error() string { return fmt.Sprintf("%s: %v", e.server, e.cause) }

func (e *endpointError) Unwrap() error { return e.cause }

func (e *endpointError) leadsNowhere() error {
	return fmt.Errorf("a control plane's Kubernetes API answers, and for %.0f min not at %s (%w): "+
		"see that kubernetes.endpoint leads to the control planes: a virtual address lies in their subnet and is no other machine's, "+
		"a name or a load balancer points to them; then run up again", endpointPatience.Minutes(), e.server, e.cause)
}

// state says in a few words what is waited for.
func (a Awaited) state(err error) string {
	var endpoint *endpointError
	var nodes *unreadyError
	switch {
	case errors.As(err, &endpoint):
		return "no answer at " + endpoint.server + ", where clients look"
	case errors.As(err, &nodes):
		return "not Ready: " + strings.Join(nodes.names, ", ")
	default:
		return "the Kubernetes API does not answer yet"
	}
}

// say names no time of day: what a Command prints is kept in the state.
func (a Awaited) say(state string) {
	switch {
	case a.Say == nil:
	case a.Limit > 0:
		a.Say(fmt.Sprintf("%s (%.0f min at most)", state, a.Limit.Minutes()))
	default:
		a.Say(state)
	}
}

// unreadyError is what the Nodes lack, as far as they said.
type unreadyError struct{ names, lacks []string }

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
			return &endpointError{server: awaited.Server, cause: err}
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
			problem.names, problem.lacks = append(problem.names, name), append(problem.lacks, lack)
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
