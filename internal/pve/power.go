package pve

import (
	"context"
	"fmt"
)

// SwitchOn starts a virtual machine that is off, wherever it is, and returns when its start has ended; one that runs is left
// as it is. The error is a sentence that ends with what to do.
func (h Host) SwitchOn(ctx context.Context, vmid int) error {
	reader := Reader{h.client}
	guest, err := reader.machine(ctx, vmid)
	runs := false
	if err == nil {
		runs, err = reader.runs(ctx, guest)
	}
	switch {
	case err != nil:
		return fmt.Errorf("start VM %d: %w: see that the host answers, then run up again", vmid, err)
	case runs:
		return nil
	default:
		return h.Start(ctx, guest.Node, vmid)
	}
}
