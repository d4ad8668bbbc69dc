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
	s, err := o.begin(ctx, needs{systems: true})
	if err != nil {
		return nil, err
	}
	return s.hostTasks().list(ctx)
}

// StopTask stops a running task, after consent. The argument is the task's UPID, or the name or VMID of its machine. Proxmox VE
// undoes what the task had begun.
func (o *Operator) StopTask(ctx context.Context, which string) error {
	s, err := o.begin(ctx, needs{systems: true, consent: "stop it"})
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

// hostTasks are the tasks of the hosts for the machines and templates of a stack.
type hostTasks struct {
	host     pve.Connection
	machines []taskMachine
	noun     string   // what the machines are
	others   []string // the hosts on which a machine may be that the inventory does not have
	place    remedy.Place
	emit     func(Event)
}

// taskMachine is a machine or a template on which tasks may work.
type taskMachine struct {
	name string
	vmid int
	host string
}

// hostTasks returns the tasks for the stack of the session, which is a cluster or has systems.
func (s *session) hostTasks() hostTasks {
	all := hostTasks{host: s.host, place: s.place, emit: s.emit}
	if layer, areSystems := s.layer.(systemsLayer); areSystems {
		all.noun, all.others = "system", layer.Hosts()
		for _, system := range layer.File.Systems() {
			all.machines = append(all.machines, taskMachine{system.Name, system.VMID, system.Host})
		}
		for _, image := range layer.File.Images {
			all.machines = append(all.machines, taskMachine{image.Name, image.VMID, image.Host})
		}
		return all
	}
	all.noun, all.others = "node", []string{s.inventory.Cluster.Proxmox.Host}
	for _, node := range s.inventory.Nodes {
		all.machines = append(all.machines, taskMachine{node.Name, node.VMID, node.Host})
	}
	return all
}

// list returns the running tasks.
func (h hostTasks) list(ctx context.Context) ([]pve.Task, error) {
	reader, err := pve.NewReader(h.host)
	if err != nil {
		return nil, refused(err)
	}
	return tasksOf(ctx, reader, h.machines)
}

// tasksOf returns the running tasks of machines, each once.
func tasksOf(ctx context.Context, reader pve.Reader, machines []taskMachine) ([]pve.Task, error) {
	var all []pve.Task
	for _, machine := range machines {
		found, err := reader.TasksOf(ctx, machine.host, machine.vmid)
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
	names := make([]string, len(h.machines))
	for at, machine := range h.machines {
		names[at] = machine.name
	}
	vmid, err := inventory.FindVMID(which, h.noun, names, func(at int) int { return h.machines[at].vmid })
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
	tasks, err := tasksOf(ctx, reader, h.placesOf(vmid))
	if err != nil {
		return pve.Task{}, err
	}
	if at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.VMID == vmid }); at >= 0 {
		return tasks[at], nil
	}
	switch len(tasks) {
	case 0:
		return pve.Task{}, refused(fmt.Errorf("no task works on VMID %d: see `em-infra task list %s`", vmid, h.place.Stack))
	case 1:
		return tasks[0], nil
	default:
		h.emit(TasksFound{tasks})
		return pve.Task{}, refused(fmt.Errorf("%d clones are running, and it cannot be told which one makes VM %d: name the task by its UPID", len(tasks), vmid))
	}
}

// placesOf returns a machine with each host on which it may be. One that is not in the inventory any more may be on any of them.
func (h hostTasks) placesOf(vmid int) []taskMachine {
	if at := slices.IndexFunc(h.machines, func(m taskMachine) bool { return m.vmid == vmid }); at >= 0 {
		return h.machines[at : at+1]
	}
	var places []taskMachine
	for _, host := range h.others {
		places = append(places, taskMachine{vmid: vmid, host: host})
	}
	return places
}
