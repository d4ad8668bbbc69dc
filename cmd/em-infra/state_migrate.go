package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newStateMigrateCommand() *cobra.Command {
	var (
		flags stackFlags
		to    string
		with  []string
	)
	command := &cobra.Command{
		Use:   "migrate --stack STACK --to URL",
		Short: "Move the state to another place, such as a bucket, and back",
		Long: `Move the state to another place: s3://BUCKET, gs://BUCKET, azblob://CONTAINER or file://FOLDER, as Pulumi names them.
The state is copied, read back and compared; then the file of the stack names the new place (em-infra:backend), and the old state is
removed. A plain pulumi finds it in the shell of em-infra tools env, and refuses to work on another one. A backup of it stays. Passphrase and stack file remain what they are. The credentials of a bucket
are those of its own tools, e.g. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Each stack has a place of its own, or that of backend.url in Pulumi.yaml. Other stacks that are to move as well: --with.`,
		Example: `  em-infra state migrate --stack k3s-dev --to 's3://states?region=eu-central-1'
  em-infra state migrate --stack k3s-dev --with k8s-prod --to file://./.state`,
		RunE: func(command *cobra.Command, _ []string) error {
			options := operator.MigrateOptions{To: to, With: with}
			if err := options.Check(); err != nil {
				return err
			}
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			if err := o.Migrate(command.Context(), options); err != nil {
				return err
			}
			fmt.Fprintf(streams.out, "\nPulumi.%s.yaml names the new place; commit it\nnext: %s\n", o.Workspace().Stack, typed("preview %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	command.Flags().StringVar(&to, "to", "", "the URL of the new place")
	command.Flags().StringSliceVar(&with, "with", nil, "another stack of the project to move")
	return command
}
