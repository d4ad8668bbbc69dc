package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newStateUnlockCommand() *cobra.Command {
	var (
		flags stackFlags
		force bool
	)
	command := &cobra.Command{
		Use:   "unlock --stack STACK",
		Short: "Remove the lock of a dead run from the state",
		Long: `Remove the lock of a dead run from the state. The lock of a live run, or of a run on another computer, stays, and its owner
is named; --force removes it too. up and destroy remove the locks of runs that are known to be dead. In a bucket, a lock of
another computer is removed if it is older than a day.`,
		Example: "  em-infra state unlock --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			cleared, err := o.Unlock(command.Context(), operator.UnlockOptions{Force: force})
			switch {
			case err != nil:
				return err
			case force:
				fmt.Fprintf(streams.out, "every lock of stack %s is removed\n", flags.stack)
			case cleared == 0:
				fmt.Fprintf(streams.out, "no lock is on stack %s\n", flags.stack)
			}
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().BoolVar(&force, "force", false, "take any lock; two runs at once destroy a state")
	return command
}
