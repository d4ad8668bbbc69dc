package stacks

import (
	"context"

	"github.com/em-infra/em-infra/internal/pve"
)

// runsOn asks Proxmox VE whether a machine is switched on, over the provider's connection: a node that does not answer may be
// off, or unreachable from this computer, and only a node that is off may be changed without a check.
func runsOn(host pve.Connection) func(context.Context, int) (bool, error) {
	return func(ctx context.Context, vmid int) (bool, error) {
		reader, err := pve.NewReader(host)
		if err != nil {
			return false, err
		}
		return reader.IsRunning(ctx, vmid)
	}
}

// awaitsShutdownOn asks Proxmox VE whether it waits for a machine to shut down.
func awaitsShutdownOn(host pve.Connection) func(context.Context, int) (bool, error) {
	return func(ctx context.Context, vmid int) (bool, error) {
		reader, err := pve.NewReader(host)
		if err != nil {
			return false, err
		}
		return reader.AwaitsShutdown(ctx, vmid)
	}
}
