package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newEtcdCopyCommand() *cobra.Command {
	var (
		flags  stackFlags
		from   operator.SnapshotPlaces
		output string
	)
	command := &cobra.Command{
		Use:   "copy --stack STACK",
		Short: "Copy the snapshots of etcd that the bucket lacks into it",
		Long: `Copy the snapshots of etcd on this machine that the bucket lacks into it, newest first: those of this cluster that backups.keep in
cluster.yaml keeps. up and snapshot do so as well; use this command after a bucket could not be reached, or when cluster.yaml names
a new one. A plain pulumi up calls it.`,
		Example: "  em-infra etcd copy --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			copies, failed := o.CopyEtcdSnapshots(command.Context(), from)
			if output == outputJSON {
				copies.Sent = append([]string{}, copies.Sent...)
				return errors.Join(failed, writeJSON(streams.out, copies))
			}
			for _, name := range copies.Sent {
				fmt.Fprintf(streams.out, "copied to %s, which lacked it: %s\n", copies.Bucket, name)
			}
			if failed == nil && len(copies.Sent) == 0 {
				fmt.Fprintf(streams.out, "nothing to copy: %s has the snapshots that the rule keeps\n", copies.Bucket)
			}
			return failed
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	command.Flags().StringVar(&from.Folder, "snapshots", "", "the folder of the snapshots (default: that of the stack's backups)")
	command.Flags().StringVar(&from.Bucket, "bucket", "", "the URL of a bucket or folder that stands for the bucket of cluster.yaml")
	return command
}
