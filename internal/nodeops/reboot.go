package nodeops

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// Reboot reboots a node through its Talos API, and returns when it answers in its next boot. The lane then waits until the
// node works. The error is a sentence that ends with what to do; it is an [UntouchedError] if the node was not rebooted.
func (h Health) Reboot(ctx context.Context, node rolling.Node) error {
	former, err := h.orderReboot(ctx, node)
	if err != nil {
		return &UntouchedError{err}
	}
	return h.awaitNextBoot(ctx, node, former)
}

// UntouchedError is why a node did not accept an order. The node is unchanged.
type UntouchedError struct{ err error }

func (e *UntouchedError) Error() string { return e.err.Error() }

func (e *UntouchedError) Unwrap() error { return e.err }

// orderReboot orders the reboot and returns the ID of the boot that ends.
func (h Health) orderReboot(ctx context.Context, node rolling.Node) (former string, err error) {
	off, err := h.isOff(ctx, node)
	if err != nil {
		return "", fmt.Errorf("%s is not rebooted, because %w", node.Name, err)
	}
	if off {
		return "", fmt.Errorf("%s is switched off, so there is nothing to reboot: `em-infra up` starts it, and then it uses what waited for its boot", node.Name)
	}
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
		former, err = BootID(ctx, api)
		return err
	})
	if err == nil {
		err = h.order(ctx, node, former, func(ctx context.Context, api *client.Client) error { return api.Reboot(ctx) })
	}
	if err != nil {
		return "", fmt.Errorf("%s does not take the order to reboot (%w): see that it runs and that its Talos API is reached, then reboot it again", node.Name, err)
	}
	return former, nil
}

func (h Health) awaitNextBoot(ctx context.Context, node rolling.Node, former string) error {
	last := errors.New("it has not gone down yet")
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
			now, err := BootID(ctx, api)
			if err == nil && now == former {
				return errors.New("it has not gone down yet")
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	}) != nil {
		return fmt.Errorf("%s has not come back from its reboot (%w): look at the console of its VM in Proxmox VE", node.Name, last)
	}
	return nil
}
