package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/backup"
	"github.com/em-infra/em-infra/internal/workspace"
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
			s, err := newSession(flags, "", streamsOf(command))
			if err != nil {
				return refused(err)
			}
			backups, err := s.backups().List()
			if err != nil {
				return err
			}
			if output == outputJSON {
				return writeJSON(s.out, append([]backup.Backup{}, backups...))
			}
			if len(backups) == 0 {
				fmt.Fprintf(s.out, "no backups of stack %s in %s; up and destroy make them\n", s.workspace.Stack, workspace.Nearby(s.workspace.Backups))
				return nil
			}
			return listBackups(s.out, backups)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}

func listBackups(out io.Writer, backups []backup.Backup) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTAKEN (UTC)\tMADE\tSIZE")
	for _, b := range backups {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d KiB\n", b.Name, b.Taken.Format("2006-01-02 15:04:05"), strings.ReplaceAll(b.Reason, "-", " "), (b.Bytes+1023)/1024)
	}
	return table.Flush()
}
