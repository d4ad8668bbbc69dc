package pve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// IsRunning reports whether a virtual machine is switched on, according to its host: the list of all machines is some seconds
// old (pve-manager, Service/pvestatd.pm). It is an error if the token may not see the machine, or if the host does not answer:
// neither means that it is off.
func (r Reader) IsRunning(ctx context.Context, vmid int) (bool, error) {
	guest, err := r.machine(ctx, vmid)
	if err != nil {
		return false, err
	}
	var current struct{ Status string }
	if err := r.get(ctx, &current, nodePath(guest.Node, "qemu/"+strconv.Itoa(vmid)+"/status/current")); err != nil {
		return false, fmt.Errorf("host %s does not say how VM %d is: %w", guest.Node, vmid, err)
	}
	return current.Status != "stopped", nil
}

// machine finds the virtual machine of a VMID, on whatever host it is.
func (r Reader) machine(ctx context.Context, vmid int) (Guest, error) {
	guests, err := r.Guests(ctx)
	if err != nil {
		return Guest{}, fmt.Errorf("proxmox VE does not tell its machines: %w", err)
	}
	at := slices.IndexFunc(guests, func(g Guest) bool { return g.VMID == vmid && g.Type == "qemu" })
	if at < 0 {
		return Guest{}, fmt.Errorf("proxmox VE shows the token no VM %d", vmid)
	}
	return guests[at], nil
}
