package components

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// startFirst starts a machine that is off and whose hardware is to be changed, and refuses the change in this run: the
// provider would start it once more, which Proxmox VE refuses a machine that runs, and without a start before it the reboot
// would come before Talos listens to its power button (decision 30). One that does not start is changed as it is: the change
// may be what lets it start again.
func (r *rollout) startFirst(ctx context.Context, node rolling.Node, vmid int) error {
	if r.switchOn == nil {
		return fmt.Errorf("%s is off, and a change of its hardware would reboot it before it listens to its power button: start VM %d in Proxmox VE, wait until its Talos answers, then run up again", node.Name, vmid)
	}
	health, err := r.health()
	if err != nil {
		return err
	}
	if err := r.switchOn(ctx, vmid); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s is untouched: %w", node.Name, context.Cause(ctx))
		}
		health.Say("%s is off and does not start, so it is changed as it is: %v", node.Name, err)
		return nil
	}
	if err := health.WaitUntilBooted(ctx, node); err != nil {
		return err
	}
	return fmt.Errorf("%s was off and is switched on now: run up again, which changes its hardware as it runs", node.Name)
}
