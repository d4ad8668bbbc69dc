package rolling

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// offPatience is how long the machine of a changed node may be off. Proxmox VE starts it as soon as it has shut down.
const offPatience = 30 * time.Second

// errStaysOff ends the wait for a node whose machine was not started again. The reboot task succeeds even then: the cleanup
// after the shutdown starts the machine, in a separate task (qemu-server, PVE/CLI/qm.pm, cleanup).
var errStaysOff = errors.New("its machine stays off")

// unlessOff returns a condition that fails with errStaysOff when the node's machine has been off for offPatience.
func (l *Lane) unlessOff(node Node, holds Condition) Condition {
	var since time.Time
	return func(ctx context.Context) error {
		err := holds(ctx)
		if err == nil || !l.cluster.IsOff(ctx, node) {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) >= offPatience {
			return errStaysOff
		}
		return fmt.Errorf("its machine is off: %w", err)
	}
}
