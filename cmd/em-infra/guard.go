package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guard HOME",
		Short:  "End the plugins of HOME when who holds the other end of the standard input has ended",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return operator.Guard(args[0], command.InOrStdin())
		},
	}
}
