package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

func newEtcdRestoreCommand() *cobra.Command {
	var (
		flags   stackFlags
		options operator.EtcdRestoreOptions
		allowed allowances
	)
	command := &cobra.Command{
		Use:   "restore --stack STACK",
		Short: "Bring etcd back from a snapshot, after the loss of its quorum or of all control planes",
		Long: `Bring etcd back from a snapshot: when its quorum is lost, when all control planes are lost, or to go back in time. Machines that
are gone are made again first, as up makes them. The control planes delete their data of etcd, one begins with that of the snapshot,
the others join it, and the kubelets are restarted. At the end everything is checked as by up.

Without --from, the newest data that a control plane still has is taken, else the newest snapshot. While etcd works, --from is needed.
A control plane that has data of etcd, or whose machine is made anew, has to be named with --allow-replace. What was written after the
snapshot is lost. After a run that was killed, the same command goes on from there.`,
		Example: `  em-infra etcd restore --stack k3s-dev --dry-run
  em-infra etcd restore --stack k3s-dev --allow-replace k3s-dev-control-1
  em-infra etcd restore --stack k3s-dev --allow-replace k3s-dev-control-1 --from 2026-11-21T09-14-03-before-up`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			var err error
			if options.Allow, err = allowed.permissions(); err != nil {
				return refused(err)
			}
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			result, err := o.RestoreEtcd(command.Context(), options)
			switch {
			case err != nil:
				return err
			case result == nil:
				fmt.Fprintf(streams.out, "\nnothing was changed, as asked for\nnext: %s\n", typed("etcd restore %s", o.Place()))
				return nil
			}
			return printSummary(streams.out, result, o.Place())
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	flags.bindKeep(command)
	flags.bindVerbose(command)
	allowed.bind(command, &flags)
	command.Flags().StringVar(&options.From, "from", "", "the name of the snapshot (default: what a control plane still has, else the newest)")
	command.Flags().BoolVar(&options.DryRun, "dry-run", false, "say what would be done, and end")
	completeFlag(command, "from", flags.completeSnapshots)
	return command
}

// printRestored prints what was verified after a restore of etcd.
func printRestored(out io.Writer, result *operator.UpResult) error {
	restored := result.Restored
	var members []string
	for _, member := range result.Report.Members {
		members = append(members, member.Name)
	}
	slices.Sort(members)
	ready := 0
	for _, machine := range result.Report.Machines {
		if machine.Kubernetes != nil && machine.Kubernetes.Ready {
			ready++
		}
	}
	table := terminal.Table{Header: []string{"VERIFIED", "RESULT"}, Rows: [][]string{
		{"snapshot", fmt.Sprintf("%s, of %s UTC", restored.Snapshot.Name, restored.Snapshot.Taken.UTC().Format("2006-01-02 15:04:05"))},
		{"restored on", restored.On},
		{"revision", fmt.Sprintf("%d; what was written after it is not there", restored.Snapshot.Revision)},
		{"members of etcd", strings.Join(members, ", ")},
		{"versions", result.Report.Versions()},
		{"Nodes Ready", fmt.Sprintf("%d of %d", ready, len(result.Report.Machines))},
	}}
	if len(restored.Away) > 0 {
		table.Rows = append(table.Rows, []string{"no answer", strings.Join(restored.Away, ", ") + ": no member of etcd"})
	}
	fmt.Fprintln(out)
	return table.Write(out)
}
