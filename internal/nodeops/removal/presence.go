package removal

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// presence is what is known of a node before it is removed.
type presence int

const (
	// dead is a node that does not answer, and whose Node is not Ready.
	dead presence = iota
	// unreachable is a node that does not answer, and whose Node is Ready: it runs, but something blocks the connection.
	unreachable
	// answers is a node whose Talos API answers.
	answers
)

// look returns whether the node answers. It gives a silent node time for a reboot. The error is that of a context that has ended.
func (n Node) look(ctx context.Context, api *nodeops.Kubernetes) (presence, error) {
	began, seen := time.Now(), dead
	_ = poll.Until(ctx, interval, func(ctx context.Context) (bool, error) { // why ctx has ended is returned
		if nodeops.IsAlive(ctx, n.Talosconfig, n.Address) {
			seen = answers
			return true, nil
		}
		waited := time.Since(began)
		if api.IsReady(ctx, n.Name) {
			seen = unreachable
			return waited > cmp.Or(n.patience, rebootTimeout), nil
		}
		seen = dead
		return waited > silence, nil
	})
	if ctx.Err() != nil {
		return dead, fmt.Errorf("removing %s: %w", n.Name, context.Cause(ctx))
	}
	return seen, nil
}

// talosAPI returns where the node's Talos API listens.
func (n Node) talosAPI() string {
	return net.JoinHostPort(n.Address, strconv.Itoa(constants.ApidPort))
}
