package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
)

func newTaskCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "task",
		Short: "What the host works on for the machines of a stack, and how to stop it",
	}
	command.AddCommand(newTaskListCommand(), newTaskStopCommand())
	return command
}

func newTaskListCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "list --stack STACK",
		Short: "Show the tasks that go on, with the end of their logs; only reads",
		Long: `Show the tasks of Proxmox VE that go on for the machines and templates of a stack, with the last lines of their logs. It
can be run while a run works in another terminal.`,
		Example: "  em-infra task list --stack k3s-dev\n  em-infra task list --stack k3s-dev --lab",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			s, err := openSession(command.Context(), flags, want{}, streams.aside())
			if err != nil {
				return err
			}
			tasks, err := s.tasks(command.Context())
			if err != nil {
				return err
			}
			return writeTasks(streams.out, tasks)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}

func newTaskStopCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "stop NODE|VMID|UPID --stack STACK",
		Short: "Stop the task that works on a machine, as the button Stop in Proxmox VE does",
		Long: `Stop the task that works on a machine. Proxmox VE undoes what the task had begun: a clone takes its half-made machine away.
A run that waits for a clone begins another one after some seconds.

A clone is listed under its template. Where several clones go on and nothing tells which is the machine's, name the task by
its UPID, as "em-infra task list" shows it.`,
		Example: "  em-infra task stop k3s-dev-worker-1 --stack k3s-dev\n  em-infra task stop 102 --stack k3s-dev --lab --yes",
		Args:    oneName("NODE, VMID or UPID"),
		RunE: func(command *cobra.Command, args []string) error {
			streams := streamsOf(command)
			s, err := openSession(command.Context(), flags, want{consent: "stop it"}, streams)
			if err != nil {
				return err
			}
			return s.stopTask(command.Context(), args[0])
		},
	}
	command.ValidArgsFunction = onlyFirst(flags.completeNodes)
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	return command
}

// tasks are those that go on for the stack's machines and templates.
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

// shownLines of a task's log tell how far it is.
const shownLines = 5

func writeTasks(out io.Writer, tasks []pve.Task) error {
	if len(tasks) == 0 {
		_, err := fmt.Fprintln(out, "no task goes on for the machines of this stack")
		return err
	}
	var text strings.Builder
	for _, task := range tasks {
		fmt.Fprintf(&text, "%s of VM %d on %s, since %s\n  %s\n", task.Type, task.VMID, task.Node, task.Since.Format(time.TimeOnly), task.UPID)
		for _, line := range task.Log[max(0, len(task.Log)-shownLines):] {
			fmt.Fprintf(&text, "  | %s\n", line)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// stopTask stops the one task that is meant, after somebody has agreed.
func (s *session) stopTask(ctx context.Context, which string) error {
	task, err := s.taskMeant(ctx, which)
	if err != nil {
		return err
	}
	if err := writeTasks(s.out, []pve.Task{task}); err != nil {
		return err
	}
	if s.consent != "" {
		if err := s.ask(ctx); err != nil {
			return err
		}
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	if err := host.StopTask(ctx, task); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "Proxmox VE was told to stop it; a task that waits for a storage ends when that answers")
	return err
}

func (s *session) taskMeant(ctx context.Context, which string) (pve.Task, error) {
	tasks, err := s.tasks(ctx)
	if err != nil {
		return pve.Task{}, err
	}
	if strings.HasPrefix(which, "UPID:") {
		at := slices.IndexFunc(tasks, func(t pve.Task) bool { return t.UPID == which })
		if at < 0 {
			return pve.Task{}, refused(fmt.Errorf("no task %s goes on for the machines of this stack: see `em-infra task list %s`", which, s.place))
		}
		return tasks[at], nil
	}
	vmid, err := vmidOf(which, s.inventory)
	if err != nil {
		return pve.Task{}, refused(err)
	}
	return s.onlyTask(ctx, vmid)
}

// onlyTask of a machine. A task of its own comes before the clones that may be its.
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
		return pve.Task{}, refused(fmt.Errorf("no task works on VM %d: see `em-infra task list %s`", vmid, s.place))
	case 1:
		return tasks[0], nil
	default:
		return pve.Task{}, refused(errors.Join(
			fmt.Errorf("%d clones go on, and nothing tells which is that of VM %d: name the task by its UPID", len(tasks), vmid),
			writeTasks(s.out, tasks)))
	}
}

// hostOf is where a machine of the inventory is made.
func hostOf(inv *inventory.Inventory, vmid int) string {
	for _, node := range inv.Nodes {
		if node.VMID == vmid {
			return node.Host
		}
	}
	return inv.Cluster.Proxmox.Host
}
