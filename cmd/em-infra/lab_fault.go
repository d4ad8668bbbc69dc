package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newLabFaultCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "fault",
		Short: "Failures of the emulated host and its nodes, on request",
	}
	command.AddCommand(newLabFaultListCommand(), newLabFaultSetCommand(), newLabFaultClearCommand())
	return command
}

// consoleOf is the way into the running lab of a workspace.
func consoleOf(w *workspace.Workspace) (*control.Client, error) {
	if _, err := runningLab(w); err != nil {
		return nil, err
	}
	return control.NewClient(w.Dir), nil
}

// byLab is a failed request to a lab: what the lab itself refuses changes nothing.
func byLab(err error) error {
	if errors.Is(err, control.ErrRefused) {
		return refused(err)
	}
	return err
}

// oneName has a command that takes a name say so in its own words.
func oneName(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return refused(fmt.Errorf("name one %s, got %d: see `%s --help`", what, len(args), command.CommandPath()))
	}
}
