package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// order gives the order to upgrade. Talos answers when it has pulled the image and checked etcd (talos v1.12.4,
// v1alpha1_server.go, Upgrade). The order is repeated while another upgrade holds the lock of etcd.
func (n Node) order(ctx context.Context, before nodeops.Running, events *events) error {
	bounded, cancel := context.WithTimeout(ctx, n.Limits.Lock)
	defer cancel()
	var last error
	_ = poll.Until(bounded, n.Limits.Interval, func(context.Context) (bool, error) { // the result of the last order is used
		var actor string
		actor, last = n.call(ctx)
		events.by(actor)
		return !isLocked(last), nil
	})
	switch {
	case last == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the upgrade of %s: %w", n.Name, context.Cause(ctx))
	case isLocked(last):
		return fmt.Errorf("%s is untouched, because another upgrade holds the lock talos:etcdUpgradeMutex in etcd after %s: make sure that no other upgrade of a control plane is running, then run up again", n.Name, poll.InWords(n.Limits.Lock))
	case status.Code(last) == codes.Unavailable && n.hasBegun(ctx, before):
		return nil // only the answer was lost
	default:
		return n.refusal(last)
	}
}

// call orders the upgrade once, and returns the actor ID of the events that it causes.
func (n Node) call(ctx context.Context) (actor string, err error) {
	api, err := nodeops.Connect(ctx, n.Talosconfig, n.Address)
	if err != nil {
		return "", err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(client.WithNode(ctx, n.Address), n.Limits.Pull)
	defer cancel()
	answer, err := api.UpgradeWithOptions(ctx, client.WithUpgradeImage(n.Image), client.WithUpgradePreserve(true))
	for _, message := range answer.GetMessages() {
		actor = message.GetActorId()
	}
	return actor, err
}

// hasBegun reports whether the node upgrades although the answer to the order was lost: it stops, is gone, or has rebooted.
func (n Node) hasBegun(ctx context.Context, before nodeops.Running) bool {
	now, err := n.look(ctx)
	return err != nil || now.Leaves(before.Boot)
}

func isLocked(err error) bool {
	return err != nil && strings.Contains(status.Convert(err).Message(), "error trying to lock etcd upgrade mutex")
}

// refusal returns why the node does not upgrade. Talos has texts only, and the code Unknown for most of them.
func (n Node) refusal(err error) error {
	text := oneLine(status.Convert(err).Message())
	remedy := "mend that, then run up again"
	switch {
	case errors.Is(err, nodeops.ErrTalosconfig):
		return err
	case status.Code(err) == codes.DeadlineExceeded && !strings.Contains(text, "etcd"):
		text = fmt.Sprintf("it has not pulled the installer image after %s", poll.InWords(n.Limits.Pull))
		remedy = "see that it reaches the Image Factory, or give it a registry mirror in talos.patches, then run up again"
	case strings.Contains(text, "error validating installer image"):
		remedy = "see that the Image Factory has this version with these extensions and that the node reaches it, then run up again"
	case strings.Contains(text, "is insufficient to maintain quorum"):
		remedy = "with two members of etcd neither can be spared: bring the third control plane back, or remove its member, then run up again"
	case strings.Contains(text, "error validating etcd"):
		remedy = "bring the other control planes back, then run up again"
	}
	return fmt.Errorf("%s is untouched (%s): %s", n.Name, text, remedy)
}
