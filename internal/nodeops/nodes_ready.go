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

// Awaited describes what WaitUntilReady waits for.
type Awaited struct {
	// Server is the URL where clients reach the Kubernetes API, e.g. https://192.168.20.10:6443; empty for any control
	// plane's own address. The virtual address of a cluster appears some time after etcd starts or changes.
	Server string
	// Nodes are the names of Nodes; empty to wait for the API only.
	Nodes []string
	// Limit is the longest time to wait. Default: 0, until the context ends.
	Limit time.Duration
	// Say receives what is waited for and the longest time, each time that changes. Default: nil, no messages.
	Say func(string)
}

// endpointPatience is how long the endpoint may be unreachable while the control planes answer: a virtual address moves
// within a minute (talos v1.12.4, network/operator/vip.go), and a load balancer checks about as often.
const endpointPatience = 3 * time.Minute

// WaitUntilReady returns when the Kubernetes API answers and the Nodes are Ready. When ctx ends, the error is one sentence
// that states what was missing and what to do; it wraps the context's error. An endpoint that stays unreachable while the
// control planes answer ends the wait early. The error is [ErrTalosconfig] when the talosconfig cannot be read.
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
	var lastMessage string
	var astray time.Time // since when the endpoint is unreachable
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
		if state := awaited.state(err); state != lastMessage {
			lastMessage = state
			awaited.say(state)
		}
		// The last known state of the Nodes is more useful than a single failed call.
		if isUnready(err) || !isUnready(last) {
			last = err
		}
		return false, nil
	}) != nil {
		return notReady(ctx, last)
	}
	return hopeless
}

// endpointError is returned when the API answers at a control plane, but not at the address that clients use.
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

// state returns a short description of what is waited for.
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

// say prints no time of day: the output of a Command is kept in the state.
func (a Awaited) say(state string) {
	switch {
	case a.Say == nil:
	case a.Limit > 0:
		a.Say(fmt.Sprintf("%s (%.0f min at most)", state, a.Limit.Minutes()))
	default:
		a.Say(state)
	}
}

// unreadyError lists what the Nodes lack.
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

// unready returns an error for the named Nodes that do not exist or are not Ready, with the kubelet's message.
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

// notReady returns what was missing last and what to do.
func notReady(ctx context.Context, last error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("waiting for Kubernetes: %w", context.Cause(ctx))
	}
	if isUnready(last) {
		return &lateError{what: last.Error(), remedy: "see that the cluster has a network plugin (kubernetes.cni), then run up again; it goes on from here"}
	}
	return &lateError{what: "the Kubernetes API does not answer (" + oneLine(last) + ")", remedy: "look at the control planes with `talosctl health`, then run up again; it goes on from here"}
}

// lateError is one sentence about a wait that took too long; it ends with what to do.
type lateError struct{ what, remedy string }

func (e *lateError) Error() string { return e.what + ": " + e.remedy }

func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// oneLine joins the lines of an error into one clause.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
