package pve

import (
	"context"
	"fmt"
	"time"

	"github.com/luthermonson/go-proxmox"
)

// UpFor returns the node on which a machine runs, and for how long; no node if it is off or does not exist.
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

// Restart stops a machine and starts it. It does not reset it, so that the uptime begins again.
func (h Host) Restart(ctx context.Context, node string, vmid int) error {
	if err := h.Stop(ctx, node, vmid); err != nil {
		return err
	}
	return h.Start(ctx, node, vmid)
}

// Stop switches a machine off, like `qm stop`, and waits until it is off.
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
	if hasFailed(task) {
		return fmt.Errorf("Proxmox VE says %q", task.ExitStatus) //nolint:staticcheck // a name
	}
	return nil
}
