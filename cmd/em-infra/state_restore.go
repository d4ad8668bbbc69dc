package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newStateRestoreCommand() *cobra.Command {
	var (
		flags stackFlags
		from  string
	)
	command := &cobra.Command{
		Use:   "restore --stack STACK",
		Short: "Restore the state from a backup, whether it is lost, damaged or wrong",
		Long: `Restore the state from a backup, whether it is lost, damaged or wrong. Nothing else is touched. If the
backup contains operations of a killed run, their results are looked for on the host and recorded, and the next up continues
from there.

Resources that were created after the backup stay on the host, and the state no longer has them; their names are printed
first. The state that is replaced is backed up as TIME-before-restore, which is restored only if --from names it. While a
rotation has not ended, a backup without its new secrets is restored only by name, too.`,
		Example: `  em-infra state restore --stack k3s-dev                                   # the newest
  em-infra state restore --stack k3s-dev --from 2026-11-21T09-14-03-after-up`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			restored, err := o.Restore(command.Context(), from)
			if err != nil {
				return err
			}
			fmt.Fprintf(streams.out, "\nthe state is that of %s UTC, with %d resources\nnext: %s   # what differs on the host\n",
				restored.Backup.Taken.Format("2006-01-02 15:04:05"), restored.Resources, typed("preview %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	command.Flags().StringVar(&from, "from", "", "the name of the backup (default: the newest one that is not named before-restore)")
	completeFlag(command, "from", flags.completeBackups)
	return command
}
