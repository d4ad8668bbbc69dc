package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newEtcdDefragmentCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "defragment --stack STACK",
		Short: "Release the free pages of etcd's databases, and end an alarm about space",
		Long: `Release the free pages of etcd's databases, and end an alarm about space. When the database of a member has reached its quota,
etcd accepts no writes until both are done. No key is changed. A member answers no requests while it is defragmented, for a second or
two for each 100 MiB. So they are defragmented one at a time, the leader last, and the next one only when all members vote.`,
		Example: "  em-infra etcd defragment --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			err = o.DefragmentEtcd(command.Context(), func(done operator.DefragmentedMember) {
				fmt.Fprintf(streams.out, "%s: %s → %s, of which %s are in use\n", done.Node, kibibytes(done.Before), kibibytes(done.After), kibibytes(done.InUse))
			})
			if err == nil {
				fmt.Fprintln(streams.out, "etcd has no alarm and takes writes")
			}
			return err
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}

func newEtcdDisarmCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "disarm --stack STACK",
		Short: "End the alarms of etcd when their cause is gone",
		Long: `End the alarms of etcd when their cause is gone. An alarm about space comes back at once unless the databases were defragmented:
em-infra etcd defragment does both. An alarm about corrupt data is ended only when the member with that data has left etcd, or has
left and joined again. Until then the command names the member and what to do.`,
		Example: "  em-infra etcd disarm --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			err = o.DisarmEtcd(command.Context())
			if err == nil {
				fmt.Fprintln(streams.out, "etcd has no alarm and takes writes")
			}
			return err
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}
