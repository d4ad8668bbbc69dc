package nodeops

import (
	"context"
	"errors"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// leaveLimit is how long a node has to begin with an order whose answer was lost.
const leaveLimit = 15 * time.Second

// errAnswerLost is returned for an order whose answer was lost, and which the node has not begun with.
var errAnswerLost = errors.New("the connection broke before its answer, and it still runs as before after 15 s")

// order gives a node an order that ends its boot. Talos carries it out after its answer, so a lost answer is no error if the node goes down. A node
// that is silent afterwards goes down, as far as is known.
func (h Health) order(ctx context.Context, node rolling.Node, boot string, give func(context.Context, *client.Client) error) error {
	var answer error
	err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		answer = give(ctx, api)
		return answer
	})
	if err == nil || !isLost(answer) {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	answers := false
	leaves := poll.Until(bounded, pollInterval, func(ctx context.Context) (bool, error) {
		now, err := LookAt(ctx, h.Talosconfig, node.Address.String())
		if err == nil || ctx.Err() == nil { // the end of the wait says nothing about the node
			answers = err == nil
		}
		return err == nil && now.Leaves(boot), nil
	})
	if leaves != nil && answers {
		return errAnswerLost
	}
	return nil
}

// isLost reports whether a call may have been carried out although it failed: it took too long, or its connection broke.
func isLost(err error) bool {
	return isDeadline(err) || status.Code(err) == codes.Unavailable && !isUnreached(err)
}
