package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newTaskCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "task",
		Short: "The host's running tasks for the machines of a stack, and how to stop them",
	}
	command.AddCommand(newTaskListCommand(), newTaskStopCommand())
	return command
}

func newTaskListCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "list --stack STACK",
		Short: "Show the running tasks with the end of their logs; only reads",
		Long: `Show the running tasks of Proxmox VE for the machines and templates of a stack, with the last lines of their logs. It
can be run while a run works in another terminal.`,
		Example: "  em-infra task list --stack k3s-dev\n  em-infra task list --stack k3s-dev --lab",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			tasks, err := o.Tasks(command.Context())
			if err != nil {
				return err
			}
			printTasks(streams.out, tasks)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}

func newTaskStopCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "stop MACHINE|VMID|UPID --stack STACK",
		Short: "Stop the task that works on a machine, as the button Stop in Proxmox VE does",
		Long: `Stop the task that works on a machine. Proxmox VE undoes what the task has begun: a clone deletes its incomplete machine.
A run that waits for a clone begins another one after some seconds.

A clone is listed under its template. If several clones are running and it cannot be told which one makes the machine, name the
task by its UPID, as "em-infra task list" shows it.`,
		Example: "  em-infra task stop k3s-dev-worker-1 --stack k3s-dev\n  em-infra task stop 102 --stack k3s-dev --lab --yes",
		Args:    oneName("MACHINE, VMID or UPID"),
		RunE: func(command *cobra.Command, args []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			if err := o.StopTask(command.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintln(streams.out, "Proxmox VE was asked to stop it; a task that waits for a storage ends when the storage answers")
			return nil
		},
	}
	command.ValidArgsFunction = onlyFirst(flags.completeGuests)
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	return command
}

// shownLines is how many lines of a task's log are shown.
const shownLines = 5

func printTasks(out io.Writer, tasks []operator.Task) {
	if len(tasks) == 0 {
		fmt.Fprintln(out, "no task is running for the machines of this stack")
		return
	}
	for _, task := range tasks {
		fmt.Fprintf(out, "%s of %s, since %s\n  %s\n", task.Type, task.Guest(), task.Since.Format(time.TimeOnly), task.UPID)
		for _, line := range task.Log[max(0, len(task.Log)-shownLines):] {
			fmt.Fprintf(out, "  | %s\n", line)
		}
	}
}
