package pve

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"
)

// liveTasks are the tasks that exist only for a running or starting machine (qemu-server API2/Qemu.pm, and pve-ha-manager).
var liveTasks = []string{"qmstart", "qmshutdown", "qmreboot", "qmreset", "qmpause", "qmsuspend", "qmresume", "hastart"}

// history returns the evidence that a machine ran since it was created, or why that cannot be ruled out; "" for neither.
// Proxmox VE has no such flag. It has lists of tasks, one on each node and limited in size for all guests together, and
// measurements, whose oldest are averages of hours or days. So "" does not mean that the machine never ran.
func (h Host) history(ctx context.Context, node string, machine *proxmox.VirtualMachine) (string, error) {
	if machine.Status != proxmox.StatusVirtualMachineStopped {
		return "it runs", nil
	}
	nodes, err := Reader{h.client}.Nodes(ctx)
	if err != nil {
		return "", fmt.Errorf("the list of hosts cannot be read (%w): see that the host answers, then run up again", withoutURL(err))
	}
	var lived, removed time.Time
	for _, other := range nodes {
		if other.Status != "online" {
			return other.Name + " is off and may have run it", nil
		}
		l, r, err := h.lifeOn(ctx, other.Name, int(machine.VMID))
		if err != nil {
			return "", err
		}
		lived, removed = later(lived, l), later(removed, r)
	}
	if !lived.IsZero() && !lived.Before(removed) {
		return "it was started", nil
	}
	measured, err := h.wasMeasured(ctx, node, int(machine.VMID), removed)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return err.Error(), nil
	case measured:
		return "its processor was measured while it ran", nil
	}
	return "", nil
}

// lifeOn returns when a machine last ran on a node and when one of that VMID was last removed there, as far as the node has
// records; the zero time for never. The tasks of a former machine with the VMID end with its removal. Times are whole seconds:
// a start in the second of a removal counts as later, since a machine that is wrongly taken for a used one is kept, and the
// opposite error would delete one.
func (h Host) lifeOn(ctx context.Context, node string, vmid int) (lived, removed time.Time, err error) {
	tasks, err := h.node(node).Tasks(ctx, &proxmox.NodeTasksOptions{VMID: vmid, Source: "all", Limit: taskHistory})
	if err != nil {
		return lived, removed, fmt.Errorf("the tasks of VM %d on %s cannot be read (%w): see that the host answers, then run up again", vmid, node, withoutURL(err))
	}
	for _, task := range tasks {
		switch {
		case task.Type == "qmdestroy":
			removed = later(removed, task.StartTime)
		case slices.Contains(liveTasks, task.Type) && !isFailedStart(task):
			lived = later(lived, task.StartTime)
		}
	}
	return lived, removed, nil
}

// neverCameUp are the errors of a start that failed before the guest ran: QEMU did not start, a device of the host was not
// free, or the machine was locked (qemu-server, QemuServer.pm, vm_start_nolock and vm_start; QemuServer/PCI.pm,
// reserve_pci_usage).
var neverCameUp = []*regexp.Regexp{
	regexp.MustCompile(`^start failed: `),
	regexp.MustCompile(`^PCI device '[^']*' already in use by VMID `),
	regexp.MustCompile(`^VM is locked \(`),
}

// isFailedStart reports whether a task is a start that certainly failed before the guest ran. For a start that timed out or was
// interrupted, that is unknown.
func isFailedStart(task *proxmox.Task) bool {
	return task.Type == "qmstart" && !strings.Contains(task.Status, "timeout") &&
		slices.ContainsFunc(neverCameUp, func(end *regexp.Regexp) bool { return end.MatchString(task.Status) })
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
