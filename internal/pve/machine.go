package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/recovery"
)

// Host is a Proxmox VE host with which recovery settles what a killed run left on it.
type Host struct{ client *proxmox.Client }

var _ recovery.Host = Host{}

// NewHost connects to a host. The error is [ErrToken].
func NewHost(c Connection) (Host, error) {
	client, err := c.Client()
	return Host{client: client}, err
}

const (
	settleInterval = time.Second
	// settleTimeout is what the provider gives a clone (timeoutClone).
	settleTimeout = 30 * time.Minute
	// lockPatience is how long a lock may outlast the last task before it counts as left behind.
	lockPatience = 15 * time.Second
	// taskHistory is more than a small host does between two runs.
	taskHistory = 500
)

// Settle implements [recovery.Host]. A lock that no task holds any more is an error that names the command to remove it.
func (h Host) Settle(ctx context.Context, node string, vmid int) (*recovery.Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	idleSince := time.Now()
	for {
		machine, err := h.machine(ctx, node, vmid)
		if err != nil || machine == nil {
			return nil, err
		}
		if machine.Lock == "" {
			started, err := h.wasStarted(ctx, node, machine)
			return &recovery.Machine{Name: machine.Name, Started: started}, err
		}
		busy, err := h.isWorking(ctx, node)
		if err != nil {
			return nil, err
		}
		if busy {
			idleSince = time.Now()
		}
		if time.Since(idleSince) > lockPatience {
			return nil, fmt.Errorf("VM %[1]d on %[2]s is locked (%[3]s) and no task works on it: run `qm unlock %[1]d` on %[2]s, then run up again", vmid, node, machine.Lock)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("VM %d on %s is still locked (%s) after %s: look at its task in Proxmox VE, then run up again", vmid, node, machine.Lock, settleTimeout)
		case <-time.After(settleInterval):
		}
	}
}

// Delete implements [recovery.Host].
func (h Host) Delete(ctx context.Context, node string, vmid int) error {
	machine, err := h.machine(ctx, node, vmid)
	if err != nil || machine == nil {
		return err
	}
	// The library's own Delete leaves jobs and disks that name the machine behind.
	var upid proxmox.UPID
	path := fmt.Sprintf("/nodes/%s/qemu/%d?purge=1&destroy-unreferenced-disks=1", node, vmid)
	if err := h.client.Delete(ctx, path, &upid); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w", vmid, node, err)
	}
	task := proxmox.NewTask(upid, h.client)
	if err := task.Wait(ctx, settleInterval, settleTimeout); err != nil {
		return fmt.Errorf("delete VM %d on %s: %w", vmid, node, err)
	}
	if task.IsFailed {
		return fmt.Errorf("delete VM %d on %s: %s", vmid, node, task.ExitStatus)
	}
	return nil
}

// machine returns nil for a VMID that is free.
func (h Host) machine(ctx context.Context, node string, vmid int) (*proxmox.VirtualMachine, error) {
	machine, err := h.node(node).VirtualMachine(ctx, vmid)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, nil // Proxmox VE says so in words only
	}
	if err != nil {
		return nil, fmt.Errorf("VM %d on %s: %w", vmid, node, err)
	}
	return machine, nil
}

// wasStarted says whether a machine runs or ever did. Proxmox VE keeps no such mark, but a list of tasks; those of a
// machine that had this VMID before end with its removal.
func (h Host) wasStarted(ctx context.Context, node string, machine *proxmox.VirtualMachine) (bool, error) {
	if machine.Status != "stopped" {
		return true, nil
	}
	tasks, err := h.node(node).Tasks(ctx, &proxmox.NodeTasksOptions{VMID: int(machine.VMID), Source: "all", Limit: taskHistory})
	if err != nil {
		return false, fmt.Errorf("tasks of VM %d on %s: %w", machine.VMID, node, err)
	}
	var removed, started time.Time
	for _, task := range tasks {
		switch task.Type {
		case "qmdestroy":
			removed = later(removed, task.StartTime)
		case "qmstart":
			started = later(started, task.StartTime)
		}
	}
	return started.After(removed), nil
}

// isWorking says whether a task is going on that makes machines. A clone is listed under its source, so the VMID is of no
// use.
func (h Host) isWorking(ctx context.Context, node string) (bool, error) {
	tasks, err := h.node(node).Tasks(ctx, &proxmox.NodeTasksOptions{Source: "active"})
	if err != nil {
		return false, fmt.Errorf("tasks of %s: %w", node, err)
	}
	return slices.ContainsFunc(tasks, func(task *proxmox.Task) bool {
		return task.EndTime.IsZero() && strings.HasPrefix(task.Type, "qm")
	}), nil
}

func (h Host) node(name string) *proxmox.Node { return (&proxmox.Node{}).New(h.client, name) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
