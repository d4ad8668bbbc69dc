// Package nodeops are operations on the nodes of a running cluster, through the Talos API.
package nodeops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	pollInterval = time.Second
	callTimeout  = 5 * time.Second
)

// ErrTalosconfig says that a talosconfig is none. It carries no cause, since that would quote what it cannot read.
var ErrTalosconfig = errors.New("the talosconfig cannot be read: give the stack's output talosconfig as it is")

// WaitUntilSecure returns when the node's Talos API answers under the PKI of talosconfig: the configuration is applied,
// Talos is installed and the machine is back from its reboot. When ctx ends the error says what the node answered last
// and what to do; it wraps the context's. It is [ErrTalosconfig] when there is nothing to wait with.
func WaitUntilSecure(ctx context.Context, talosconfig []byte, address string) error {
	api, err := connect(ctx, talosconfig, address)
	if err != nil {
		return err
	}
	defer api.Close()

	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		if err := version(ctx, api, address); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return notSecure(ctx, address, last)
		case <-ticker.C:
		}
	}
}

func version(ctx context.Context, api *client.Client, address string) error {
	ctx, cancel := context.WithTimeout(client.WithNode(ctx, address), callTimeout)
	defer cancel()
	_, err := api.Version(ctx)
	return err
}

// notSecure says what the last answer means and what to do.
func notSecure(ctx context.Context, address string, last error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("waiting for node %s: %w", address, context.Cause(ctx))
	}
	return &notSecureError{address: address, answer: answerOf(last), remedy: remedyFor(ctx, address, last)}
}

// notSecureError is one sentence that ends with what to do.
type notSecureError struct{ address, answer, remedy string }

func (e *notSecureError) Error() string {
	return fmt.Sprintf("node %s: its Talos API does not answer under this cluster's PKI (last answer: %s): %s", e.address, e.answer, e.remedy)
}

func (e *notSecureError) Unwrap() error { return context.DeadlineExceeded }

func remedyFor(ctx context.Context, address string, last error) string {
	switch {
	case !isUnderAnotherPKI(last):
		return "look at the console of its VM in Proxmox VE, then run up again; it goes on from here"
	case isInMaintenance(ctx, address):
		return "it is in maintenance mode and has no configuration: run up again; if it comes back there, look at the console of its VM in Proxmox VE"
	default:
		return "the disk of its VM holds a node of another cluster (F7): delete that VM, then run up again"
	}
}

// isUnderAnotherPKI reads the error's text, since gRPC hands that of the handshake on as text only.
func isUnderAnotherPKI(err error) bool {
	return err != nil && strings.Contains(err.Error(), "certificate signed by unknown authority")
}

func answerOf(err error) string {
	if err == nil || errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return "none"
	}
	return status.Convert(err).Message()
}
