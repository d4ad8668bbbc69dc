package pve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
)

// AwaitsShutdown reports whether Proxmox VE waits for a virtual machine to shut down, for a stop or a reboot: a running task. A
// token sees its own tasks without a privilege (pve-manager, PVE/API2/Tasks.pm).
func (r Reader) AwaitsShutdown(ctx context.Context, vmid int) (bool, error) {
	guest, err := r.machine(ctx, vmid)
	if err != nil {
		return false, err
	}
	var tasks []task
	if err := r.get(ctx, &tasks, nodePath(guest.Node, "tasks"), "source", "active", "vmid", strconv.Itoa(vmid)); err != nil {
		return false, fmt.Errorf("host %s does not tell the tasks of VM %d: %w", guest.Node, vmid, err)
	}
	return slices.ContainsFunc(tasks, task.pressesTheButton), nil
}

// task is a task of a host. The list of active tasks also contains those that have just ended.
type task struct {
	Type    string `json:"type"`
	EndTime int64  `json:"endtime"`
}

func (t task) pressesTheButton() bool {
	return t.EndTime == 0 && (t.Type == "qmreboot" || t.Type == "qmshutdown")
}
