package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

// Tasks returns the running tasks of the host for the machines and templates of the stack. It only reads.
func (o *Operator) Tasks(ctx context.Context) ([]Task, error) {
	s, err := o.begin(ctx, needs{})
	if err != nil {
		return nil, err
	}
	return s.tasks(ctx)
}

// StopTask stops a running task, after consent. The argument is the task's UPID, or the name or VMID of its machine. Proxmox VE
// undoes what the task had begun.
func (o *Operator) StopTask(ctx context.Context, which string) error {
	s, err := o.begin(ctx, needs{consent: "stop it"})
	if err != nil {
		return err
	}
	return s.stopTask(ctx, which)
}

// tasks returns the running tasks for the stack's machines and templates.
func (s *session) tasks(ctx context.Context) ([]pve.Task, error) {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return nil, refused(err)
	}
	var all []pve.Task
	for _, node := range s.inventory.Nodes {
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

// stopTask stops the task, after consent.
func (s *session) stopTask(ctx context.Context, which string) error {
	task, err := s.taskMeant(ctx, which)
	if err != nil {
		return err
	}
	s.emit(TasksFound{[]Task{task}})
	if err := s.ask(ctx); err != nil {
		return err
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	return host.StopTask(ctx, task)
}

func (s *session) taskMeant(ctx context.Context, which string) (pve.Task, error) {
	tasks, err := s.tasks(ctx)
	if err != nil {
		return pve.Task{}, err
	}
	if strings.HasPrefix(which, "UPID:") {
		at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.UPID == which })
		if at < 0 {
			return pve.Task{}, refused(fmt.Errorf("no task %s goes on for the machines of this stack: see `em-infra task list %s`", which, s.place.Stack))
		}
		return tasks[at], nil
	}
	vmid, err := s.inventory.FindVMID(which)
	if err != nil {
		return pve.Task{}, refused(err)
	}
	return s.onlyTask(ctx, vmid)
}

// onlyTask returns the task that works on a machine. A task with the machine's VMID takes precedence over clones, which have their
// source's VMID.
func (s *session) onlyTask(ctx context.Context, vmid int) (pve.Task, error) {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return pve.Task{}, refused(err)
	}
	tasks, err := reader.TasksOf(ctx, hostOf(s.inventory, vmid), vmid)
	if err != nil {
		return pve.Task{}, err
	}
	if at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.VMID == vmid }); at >= 0 {
		return tasks[at], nil
	}
	switch len(tasks) {
	case 0:
		return pve.Task{}, refused(fmt.Errorf("no task works on VM %d: see `em-infra task list %s`", vmid, s.place.Stack))
	case 1:
		return tasks[0], nil
	default:
		s.emit(TasksFound{tasks})
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
