package recovering

import (
	"context"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// wakeHanging restarts machines that have hung since before they were members. Otherwise every run would wait for them in vain.
func (r *Recovery) wakeHanging(ctx context.Context, exported *engine.Exported) error {
	past, err := r.State.Past()
	if err != nil {
		return err
	}
	machines, err := recovery.UnjoinedMachines(&exported.Deployment, past)
	if err != nil || len(machines) == 0 {
		return err
	}
	host, err := r.Host(nil)
	if err != nil {
		return err
	}
	for _, machine := range machines {
		address := r.addressOf(machine.VMID)
		if address == "" {
			continue // the machine is no longer in the inventory
		}
		done, err := machine.Wake(ctx, host, func(ctx context.Context) bool { return !r.Nodes.Listens(ctx, address) })
		if err != nil {
			return r.Place.CompleteError(err)
		}
		if done != "" {
			r.say(done)
		}
	}
	return nil
}

// addressOf returns the address of a machine's Talos API; "" if the machine is not in the inventory.
func (r *Recovery) addressOf(vmid int) string {
	for _, node := range r.nodes() {
		if node.VMID == vmid {
			return node.Address.String()
		}
	}
	return ""
}
