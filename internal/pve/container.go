package pve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/poll"
)

// LookContainer returns the current state of a container, no matter on which node; nil if there is none that the token may see. The state has neither
// a mark of birth nor a witness of its starts.
func (h Host) LookContainer(ctx context.Context, vmid int) (*Machine, error) {
	reader := Reader{h.client}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("the list of containers cannot be read (%w): see that the host answers, then run up again", err)
	}
	at := slices.IndexFunc(guests, func(guest Guest) bool { return guest.VMID == vmid && guest.Type == TypeContainer })
	if at < 0 {
		return nil, nil
	}
	guest := guests[at]
	config, err := reader.GuestConfig(ctx, guest)
	switch {
	case err != nil && isNoSuchVM(err): // deleted in between
		return nil, nil
	case err != nil:
		return nil, unseen(guest, err)
	}
	return &Machine{
		Node: guest.Node, Name: config["hostname"], Lock: config["lock"], Running: guest.Status == "running",
		Stack: ownership.StackOfSystem(config["description"]),
	}, nil
}

// SettleContainer waits until a container is created, and returns it; nil if there is none. From its beginning, a creation holds the lock
// create (pve-container, API2/LXC.pm, create_vm). A lock without a task is a [LockedError], and a task that no longer writes a [HungError].
func (h Host) SettleContainer(ctx context.Context, vmid int) (*Machine, error) {
	watch := h.watch(vmid, TypeContainer)
	var settled *Machine
	err := poll.Until(ctx, h.interval, func(ctx context.Context) (bool, error) {
		container, err := h.LookContainer(ctx, vmid)
		if err != nil || container == nil || container.Lock != "create" {
			settled = container
			return true, err
		}
		tasks, err := Reader{h.client}.TasksOf(ctx, container.Node, vmid)
		if err != nil {
			return false, err
		}
		return false, watch.look(container.Node, tasks, container.Lock, time.Now())
	})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for CT %d: %w", vmid, context.Cause(ctx))
	}
	return settled, err
}
