package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newEtcdCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "etcd",
		Short: "etcd, the database of a cluster's Kubernetes: its snapshots and alarms",
		Long: `etcd is the database of a cluster's Kubernetes. up takes a snapshot of it before it changes a control plane. These commands take a
snapshot, list them, check one, restore etcd from one, and delete those that backups.keep in cluster.yaml does not keep. Each
snapshot is checked as a database before it is kept, and encrypted: for backups.recipients, or with the passphrase of the stack.
defragment and disarm end an alarm. While there is one, etcd accepts no writes.`,
	}
	command.AddCommand(newEtcdSnapshotCommand(), newEtcdListCommand(), newEtcdCopyCommand(), newEtcdVerifyCommand(), newEtcdRestoreCommand(), newEtcdPruneCommand(),
		newEtcdDefragmentCommand(), newEtcdDisarmCommand())
	return command
}

func newEtcdSnapshotCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "snapshot --stack STACK",
		Short: "Take a snapshot of etcd and keep it, checked and encrypted",
		Long: `Take a snapshot of etcd from a healthy follower and keep it beside the backups, checked as a database and encrypted, and in the
bucket that backups.bucket in cluster.yaml names. Older ones that the bucket lacks, since it did not take them, are copied as well. If it
does not take one now, the snapshot is kept here and the exit code is 1, so that a timer notices.`,
		Example: "  em-infra etcd snapshot --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			taken, err := o.SnapshotEtcd(command.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(streams.out, "%s: revision %d, %s\n", workspace.Nearby(taken.Path), taken.Revision, kibibytes(taken.Bytes))
			if taken.NotInBucket != nil {
				return fmt.Errorf("the snapshot is on this machine alone, because %w", taken.NotInBucket)
			}
			if taken.Bucket != "" {
				fmt.Fprintf(streams.out, "copied to %s\n", taken.Bucket)
			}
			for _, name := range taken.Sent {
				fmt.Fprintf(streams.out, "copied to %s, which lacked it: %s\n", taken.Bucket, name)
			}
			if taken.NotSent != nil {
				return fmt.Errorf("older snapshots are on this machine alone, because %w", taken.NotSent)
			}
			fmt.Fprintf(streams.out, "next: %s   # from time to time: can it be opened?\n", typed("etcd verify %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}

func newEtcdListCommand() *cobra.Command {
	return newListCommand(copies[operator.EtcdCopy]{
		parent: "etcd", what: "snapshots of etcd, on this machine and in the bucket",
		of: (*operator.Operator).EtcdCopies,
		none: func(o *operator.Operator) string {
			place := o.Workspace()
			return nothingKept(o, "snapshots of etcd", workspace.Nearby(place.Snapshots()), "up takes them")
		},
		table: snapshotTable,
	})
}

func snapshotTable(snapshots []operator.EtcdCopy) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "REVISION", "TALOS", "KUBERNETES", "SIZE", "WHERE"}}
	for _, s := range snapshots {
		row := []string{s.Name, "unknown", "", "", "", whereIs(s.Local, s.Bucket)}
		if s.Bytes > 0 {
			row = append(row[:1], fmt.Sprint(s.Revision), s.Talos, s.Kubernetes, kibibytes(s.Bytes), whereIs(s.Local, s.Bucket))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func newEtcdVerifyCommand() *cobra.Command {
	var (
		flags    stackFlags
		snapshot string
	)
	command := &cobra.Command{
		Use:   "verify --stack STACK",
		Short: "Open a snapshot of etcd and read the whole database",
		Long: `Open a snapshot of etcd and read the whole database: the command decrypts it, compares its checksum with the one that etcd
appended, reads each key, and compares the result with the description beside it. It calls no node. The snapshot is opened with the
passphrase of the stack, or with an age key from SOPS_AGE_KEY_FILE, SOPS_AGE_KEY or sops/age/keys.txt in the user's configuration
folder. A snapshot that is only in the bucket is copied to this machine first.`,
		Example: "  em-infra etcd verify --stack k3s-dev\n  em-infra etcd verify --stack k3s-dev --snapshot 2026-11-21T09-14-03-before-up",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			verified, err := o.VerifyEtcdSnapshot(command.Context(), snapshot)
			if err != nil {
				return err
			}
			fmt.Fprintf(streams.out, "%s is sound: revision %d, %d revisions of keys, %s, SHA-256 %s\n",
				verified.Name, verified.Revision, verified.Keys, kibibytes(verified.Bytes), verified.SHA256)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().StringVar(&snapshot, "snapshot", "", "the name of the snapshot (default: the newest)")
	completeFlag(command, "snapshot", flags.completeSnapshots)
	return command
}

func newEtcdPruneCommand() *cobra.Command {
	var flags stackFlags
	command := &cobra.Command{
		Use:   "prune --stack STACK",
		Short: "Delete the snapshots of etcd that backups.keep does not keep",
		Long: `Delete the snapshots of etcd that backups.keep in cluster.yaml does not keep. Each new snapshot does so as well; use this
command after a change of that rule. In the bucket, only snapshots that em-infra has stored there for this cluster are deleted, and
with addons.etcdBackup those that the cluster itself has stored.`,
		Example: "  em-infra etcd prune --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			deleted, err := o.PruneEtcdSnapshots(command.Context())
			for _, name := range deleted.Local {
				fmt.Fprintf(streams.out, "deleted %s\n", name)
			}
			for _, name := range deleted.Remote {
				fmt.Fprintf(streams.out, "deleted %s in %s\n", name, deleted.Bucket)
			}
			if err == nil && len(deleted.Local)+len(deleted.Remote) == 0 {
				fmt.Fprintln(streams.out, "nothing to delete: the rule keeps all snapshots")
			}
			return err
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	return command
}
