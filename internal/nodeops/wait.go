// Package nodeops operates on the nodes of a running cluster through the Talos API.
package nodeops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/poll"
)

const (
	pollInterval = time.Second
	callTimeout  = 5 * time.Second
)

// ErrTalosconfig is returned when a talosconfig cannot be read. It wraps no cause, because the cause would quote the secret.
var ErrTalosconfig = errors.New("the talosconfig cannot be read: give the stack's output talosconfig as it is")

// Wait is a wait for one node.
type Wait struct {
	// Talosconfig of the cluster's administrator, secret. Required.
	Talosconfig []byte
	// Address of the node. Required.
	Address string
	// Machine is the node's machine as a person finds it, e.g. VM 101. Default: its VM.
	Machine string
	// IsOn reports whether the machine is switched on, according to its host. Default: nil, unknown.
	IsOn func(context.Context) (bool, error)
	// Limit is the longest time to wait. Default: 0, until the context ends.
	Limit time.Duration
	// Say receives what is waited for and the longest time, each time that changes. Default: nil, no messages.
	Say func(string)
}

// UntilSecure returns when the node's Talos API answers under the cluster's PKI: the configuration is applied, Talos is
// installed and the machine has rebooted. The error is one sentence that states what the node's state is and what to do; it
// wraps the context's error on a timeout. The wait ends early for a node of another cluster, or one that returns to
// maintenance mode or stays in it. The error is [ErrTalosconfig] when the talosconfig cannot be read.
func (w Wait) UntilSecure(ctx context.Context) error { return w.until(ctx, w.vigil(true)) }

// UntilConfigurable returns when the node can receive its configuration: it is in maintenance mode, or answers under the
// cluster's PKI. It returns the errors of UntilSecure, and another one for a machine that is switched off.
func (w Wait) UntilConfigurable(ctx context.Context) error { return w.until(ctx, w.vigil(false)) }

func (w Wait) vigil(configured bool) *vigil {
	v := &vigil{address: w.Address, machine: w.Machine, configured: configured}
	if v.machine == "" {
		v.machine = "its VM"
	}
	return v
}

func (w Wait) until(ctx context.Context, v *vigil) error {
	api, err := Connect(ctx, w.Talosconfig, w.Address)
	if err != nil {
		return err
	}
	defer api.Close()
	if w.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Limit)
		defer cancel()
	}

	printed := ""
	var judged error
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (done bool, err error) {
		seen := look(ctx, api, w.Address)
		if ctx.Err() != nil {
			return false, nil
		}
		if done, judged = v.judge(time.Now(), seen); judged == nil && !done {
			judged = w.switchedOff(ctx, v)
		}
		if state := v.state(); !done && judged == nil && state != printed {
			printed = state
			w.say(state)
		}
		return done || judged != nil, nil
	}) != nil {
		return v.late(ctx)
	}
	return judged
}

// say prints no time of day: the output of a Command is kept in the state.
func (w Wait) say(state string) {
	switch {
	case w.Say == nil:
	case w.Limit > 0:
		w.Say(fmt.Sprintf("%s: %s (%.0f min at most)", w.Address, state, w.Limit.Minutes()))
	default:
		w.Say(w.Address + ": " + state)
	}
}

// switchedOff returns an error if a silent machine is switched off. If the host does not answer, the next look asks again.
func (w Wait) switchedOff(ctx context.Context, v *vigil) error {
	if w.IsOn == nil || v.last.presence != silent || time.Since(v.since) < offPatience {
		return nil
	}
	on, err := w.IsOn(ctx)
	if err != nil || on {
		return nil
	}
	return v.wrong(v.machine+" is switched off", "see in the tasks of Proxmox VE why it does not run, then run up again, which starts it")
}

func version(ctx context.Context, api *client.Client, address string) error {
	ctx, cancel := context.WithTimeout(client.WithNode(ctx, address), callTimeout)
	defer cancel()
	_, err := api.Version(ctx)
	return err
}

// isUnderAnotherPKI matches the text of the error, because gRPC passes the handshake error on as text only.
func isUnderAnotherPKI(err error) bool {
	return err != nil && strings.Contains(err.Error(), "certificate signed by unknown authority")
}

func answerOf(err error) string {
	if err == nil || isDeadline(err) {
		return "none"
	}
	return status.Convert(err).Message()
}
