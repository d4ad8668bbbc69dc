package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newStateListCommand() *cobra.Command {
	return newListCommand(copies[operator.BackupCopy]{
		parent: "state", what: "backups of the state, on this machine and in the bucket with the state",
		of: (*operator.Operator).BackupCopies,
		none: func(o *operator.Operator) string {
			return nothingKept(o, "backups", workspace.Nearby(o.Workspace().Backups), "up and destroy make them")
		},
		table: backupTable,
	})
}

func backupTable(backups []operator.BackupCopy) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "TAKEN (UTC)", "MADE", "SIZE", "WHERE"}}
	for _, b := range backups {
		table.Rows = append(table.Rows, []string{
			b.Name, b.Taken.Format(madeAt), strings.ReplaceAll(b.Reason, "-", " "), kibibytes(b.Bytes), whereIs(b.Local, b.Bucket),
		})
	}
	return table
}
