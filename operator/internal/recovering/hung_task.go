package recovering

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// machinesAtRest runs recoverMachines, and waits for machines that are being created. If a task hangs, it stops the task with the
// person's consent and starts again.
func (r *Recovery) machinesAtRest(ctx context.Context, exported *engine.Exported) (used []recovery.Remnant, settled *engine.Exported, err error) {
	for {
		if err = r.awaitMade(ctx); err == nil {
			used, err = r.recoverMachines(ctx, exported)
		}
		var hung *pve.HungError
		if !errors.As(err, &hung) {
			return used, exported, r.Place.CompleteError(err)
		}
		if err := r.stopHung(ctx, hung); err != nil {
			return nil, nil, err
		}
		if exported, err = r.State.Seen(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// awaitMade waits until no machine of the inventory is being created any more.
func (r *Recovery) awaitMade(ctx context.Context) error {
	if r.Inventory == nil {
		return nil
	}
	host, err := r.hostThatReports()
	if err != nil {
		return err
	}
	vmids := make([]int, len(r.Inventory.Nodes))
	for i, node := range r.Inventory.Nodes {
		vmids[i] = node.VMID
	}
	return host.AwaitMade(ctx, vmids)
}

// stopHung stops a task that hangs, with a person's consent. Otherwise its error contains the command to stop the task.
func (r *Recovery) stopHung(ctx context.Context, hung *pve.HungError) error {
	left := fmt.Errorf("%s: stop it with `em-infra task stop %d %s`, or see in Proxmox VE why it hangs and wait for it; then run up again",
		hung.What(), hung.Machine, r.Place.Stack)
	if r.Ask == nil {
		return left
	}
	agreed, err := r.Ask(ctx, hung.What(), "Type stop to have it stopped, and anything else to leave it: ", "stop")
	switch {
	case err != nil:
		return refusal.Of(err)
	case !agreed:
		return left
	}
	host, err := r.Host(nil)
	if err != nil {
		return err
	}
	return host.StopTask(ctx, hung.Task)
}
