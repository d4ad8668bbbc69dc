package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newStateListCommand() *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	command := &cobra.Command{
		Use:     "list --stack STACK",
		Short:   "List the backups of the state, newest first",
		Example: "  em-infra state list --stack k3s-dev\n  em-infra state list --stack k3s-dev --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			streams := streamsOf(command)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			backups, err := o.Backups()
			switch {
			case err != nil:
				return err
			case output == outputJSON:
				return writeJSON(streams.out, append([]operator.Backup{}, backups...))
			case len(backups) == 0:
				fmt.Fprintf(streams.out, "no backups of stack %s in %s; up and destroy make them\n", flags.stack, workspace.Nearby(o.Workspace().Backups))
				return nil
			default:
				return printBackups(streams.out, backups)
			}
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}

func printBackups(out io.Writer, backups []operator.Backup) error {
	table := terminal.Table{Header: []string{"NAME", "TAKEN (UTC)", "MADE", "SIZE"}}
	for _, b := range backups {
		table.Rows = append(table.Rows, []string{b.Name, b.Taken.Format("2006-01-02 15:04:05"), strings.ReplaceAll(b.Reason, "-", " "), kibibytes(b.Bytes)})
	}
	return table.Write(out)
}
