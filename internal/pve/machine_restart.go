package pve

import (
	"context"
	"fmt"
	"time"

	"github.com/luthermonson/go-proxmox"
)

// UpFor is on which node a machine runs, and for how long; no node when it is off or there is none.
func (h Host) UpFor(ctx context.Context, vmid int) (node string, on time.Duration, err error) {
	found, err := h.Look(ctx, vmid)
	if err != nil || found == nil || !found.Running {
		return "", 0, err
	}
	machine, err := h.machine(ctx, found.Node, vmid)
	if err != nil || machine == nil {
		return "", 0, err
	}
	return found.Node, time.Duration(machine.Uptime) * time.Second, nil
}

// Restart stops a machine and starts it. It is a stop and a start and no reset, so that the time since the start is a new one.
func (h Host) Restart(ctx context.Context, node string, vmid int) error {
	if err := h.Stop(ctx, node, vmid); err != nil {
		return err
	}
	return h.Start(ctx, node, vmid)
}

// Stop switches a machine off, as `qm stop` does, and waits until it is.
func (h Host) Stop(ctx context.Context, node string, vmid int) error {
	machine, err := h.machine(ctx, node, vmid)
	if err != nil {
		return err
	}
	if machine == nil {
		return fmt.Errorf("VM %d is not on %s any more: run up again", vmid, node)
	}
	if err := h.stop(ctx, machine); err != nil {
		return fmt.Errorf("stop VM %d on %s: %w: look at its stop in the tasks of Proxmox VE", vmid, node, withoutURL(err))
	}
	return nil
}

func (h Host) stop(ctx context.Context, machine *proxmox.VirtualMachine) error {
	task, err := machine.Stop(ctx)
	if err != nil {
		return err
	}
	if err := task.Wait(ctx, h.interval, settleTimeout); err != nil {
		return err
	}
	if task.IsFailed {
		return fmt.Errorf("Proxmox VE says %q", task.ExitStatus) //nolint:staticcheck // a name
	}
	return nil
}
