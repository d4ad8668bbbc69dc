package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

func newEtcdRestoreCommand() *cobra.Command {
	var (
		flags   stackFlags
		options operator.EtcdRestoreOptions
		allowed allowances

		isDryRun bool
	)
	command := &cobra.Command{
		Use:   "restore --stack STACK",
		Short: "Restore etcd from a snapshot, after the loss of its quorum or of all control planes",
		Long: `Restore etcd from a snapshot: when its quorum is lost, when all control planes are lost, or to go back in time. Machines that are
gone are created again first, as by up. The control planes delete their data of etcd, one of them starts etcd from the snapshot, the
others join it, and the kubelets are restarted. At the end everything is checked as by up.

Without --from, the newest data that a control plane still has is used, or else the newest snapshot. While etcd works, --from is
required. Each control plane whose data of etcd is deleted has to be named with --allow-replace. What was written after the snapshot
is lost. If the command is killed, run it again: it continues.`,
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
			if isDryRun {
				if options, err = o.PlanEtcdRestore(command.Context(), options); err == nil {
					fmt.Fprintf(streams.out, "\nnothing was changed (--dry-run)\nnext: %s\n", restoreCommand(options, o.Place()))
				}
				return err
			}
			result, err := o.RestoreEtcd(command.Context(), options)
			if err != nil {
				return err
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
	command.Flags().StringVar(&options.From, "from", "", "the name of the snapshot (default: the data that a control plane still has, or else the newest snapshot)")
	command.Flags().BoolVar(&isDryRun, "dry-run", false, "show what would be done and which permissions it needs, and change nothing")
	completeFlag(command, "from", flags.completeSnapshots)
	return command
}

// restoreCommand returns the command that restores etcd with these options.
func restoreCommand(options operator.EtcdRestoreOptions, place string) string {
	words := []string{typed("etcd restore %s", place)}
	if options.From != "" {
		words = append(words, "--from "+shell.Word(options.From))
	}
	for _, permission := range options.Allow {
		words = append(words, permission.String())
	}
	return strings.Join(words, " ")
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
		{"revision", fmt.Sprintf("%d; what was written after it is lost", restored.Snapshot.Revision)},
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
