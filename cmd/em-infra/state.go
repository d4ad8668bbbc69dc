package main

import (
	"github.com/spf13/cobra"
)

func newStateCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "state",
		Short: "The state of a stack: the engine's record of what it created",
		Long:  `The state of a stack is what the engine knows of what it made. up and destroy keep backups of it; these commands list the backups, put one back, and move the state to another place.`,
	}
	command.AddCommand(newStateBackupCommand(), newStateListCommand(), newStateRestoreCommand(), newStateUnlockCommand(), newStateMigrateCommand())
	return command
}
