package nodeops

import (
	"context"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// bootPatience is what a machine may take from its start until its Talos answers, on slow hardware.
const bootPatience = 5 * time.Minute

// WaitUntilBooted returns when the Talos of a machine that was just started answers, as a node of the cluster or in
// maintenance mode: by then it has long listened to its power button, which a machine that is shut down earlier never hears.
// It waits for five minutes at most. The error is a sentence that ends with what to do.
func (h Health) WaitUntilBooted(ctx context.Context, node rolling.Node) error {
	waiting, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	address := node.Address.String()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !IsAlive(waiting, h.Talosconfig, address) && !InMaintenance(waiting, address) {
		select {
		case <-ticker.C:
		case <-waiting.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for node %s: %w", node.Name, context.Cause(ctx))
			}
			return fmt.Errorf("the Talos of %s does not answer %s after the start of its machine: look at the console of its VM in Proxmox VE, then run up again", node.Name, bootPatience)
		}
	}
	return nil
}
