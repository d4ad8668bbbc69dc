package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newStateBackupCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "backup --stack STACK",
		Short: "Keep a copy of the state, its secrets encrypted as they are",
		Long: fmt.Sprintf(`Keep a copy of the state, its secrets encrypted as they are. up does so by itself before it changes anything and when
it is done, destroy before. The newest %d of each kind stay, such as those from before an up, or as many as --keep says.

If the state is in a bucket of S3, each backup is copied there, too, with those that it lacks. If the bucket does not take one, it is
kept here and the exit code is 1, so that a timer notices.`, operator.DefaultKeep),
		Example: "  em-infra state backup --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			o, err := flags.open(streamsOf(command))
			if err != nil {
				return err
			}
			kept, err := o.BackUp(command.Context())
			if err == nil && kept.NotInBucket != nil {
				err = fmt.Errorf("the backup is on this machine alone, because %w", kept.NotInBucket)
			}
			return err
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindKeep(command)
	return command
}
