package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
)

// Tasks returns the running tasks of the host for the machines and templates of the stack. It only reads.
func (o *Operator) Tasks(ctx context.Context) ([]Task, error) {
	s, err := o.begin(ctx, needs{})
	if err != nil {
		return nil, err
	}
	return s.hostTasks().list(ctx)
}

// StopTask stops a running task, after consent. The argument is the task's UPID, or the name or VMID of its machine. Proxmox VE
// undoes what the task had begun.
func (o *Operator) StopTask(ctx context.Context, which string) error {
	s, err := o.begin(ctx, needs{consent: "stop it"})
	if err != nil {
		return err
	}
	tasks := s.hostTasks()
	task, err := tasks.meant(ctx, which)
	if err != nil {
		return err
	}
	s.emit(TasksFound{[]Task{task}})
	if err := s.consent.ask(ctx); err != nil {
		return err
	}
	return tasks.stop(ctx, task)
}

// hostTasks are the tasks of the host for the machines and templates of a stack.
type hostTasks struct {
	host      pve.Connection
	inventory *inventory.Inventory
	place     remedy.Place
	emit      func(Event)
}

func (s *session) hostTasks() hostTasks {
	return hostTasks{host: s.host, inventory: s.inventory, place: s.place, emit: s.emit}
}

// list returns the running tasks.
func (h hostTasks) list(ctx context.Context) ([]pve.Task, error) {
	reader, err := pve.NewReader(h.host)
	if err != nil {
		return nil, refused(err)
	}
	var all []pve.Task
	for _, node := range h.inventory.Nodes {
		found, err := reader.TasksOf(ctx, node.Host, node.VMID)
		if err != nil {
			return nil, err
		}
		for _, task := range found {
			if !slices.ContainsFunc(all, func(t pve.Task) bool { return t.UPID == task.UPID }) {
				all = append(all, task)
			}
		}
	}
	return all, nil
}

// stop stops a running task.
func (h hostTasks) stop(ctx context.Context, task pve.Task) error {
	host, err := pve.NewHost(h.host)
	if err != nil {
		return refused(err)
	}
	return host.StopTask(ctx, task)
}

// meant returns the running task with a UPID, or the one that works on the machine with a name or VMID.
func (h hostTasks) meant(ctx context.Context, which string) (pve.Task, error) {
	tasks, err := h.list(ctx)
	if err != nil {
		return pve.Task{}, err
	}
	if strings.HasPrefix(which, "UPID:") {
		at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.UPID == which })
		if at < 0 {
			return pve.Task{}, refused(fmt.Errorf("no task %s goes on for the machines of this stack: see `em-infra task list %s`", which, h.place.Stack))
		}
		return tasks[at], nil
	}
	vmid, err := h.inventory.FindVMID(which)
	if err != nil {
		return pve.Task{}, refused(err)
	}
	return h.only(ctx, vmid)
}

// only returns the task that works on a machine. A task with the machine's VMID takes precedence over clones, which have their
// source's VMID.
func (h hostTasks) only(ctx context.Context, vmid int) (pve.Task, error) {
	reader, err := pve.NewReader(h.host)
	if err != nil {
		return pve.Task{}, refused(err)
	}
	tasks, err := reader.TasksOf(ctx, hostOf(h.inventory, vmid), vmid)
	if err != nil {
		return pve.Task{}, err
	}
	if at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.VMID == vmid }); at >= 0 {
		return tasks[at], nil
	}
	switch len(tasks) {
	case 0:
		return pve.Task{}, refused(fmt.Errorf("no task works on VM %d: see `em-infra task list %s`", vmid, h.place.Stack))
	case 1:
		return tasks[0], nil
	default:
		h.emit(TasksFound{tasks})
		return pve.Task{}, refused(fmt.Errorf("%d clones go on, and nothing tells which is that of VM %d: name the task by its UPID", len(tasks), vmid))
	}
}

// hostOf returns the host of a machine in the inventory.
func hostOf(inv *inventory.Inventory, vmid int) string {
	for _, node := range inv.Nodes {
		if node.VMID == vmid {
			return node.Host
		}
	}
	return inv.Cluster.Proxmox.Host
}
