package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newStateListCommand() *cobra.Command {
	return newListCommand(copies[operator.Backup]{
		parent: "state", what: "backups of the state",
		of: onThisMachine((*operator.Operator).Backups),
		none: func(o *operator.Operator) string {
			return nothingKept(o, "backups", workspace.Nearby(o.Workspace().Backups), "up and destroy make them")
		},
		table: backupTable,
	})
}

func backupTable(backups []operator.Backup) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "TAKEN (UTC)", "MADE", "SIZE"}}
	for _, b := range backups {
		table.Rows = append(table.Rows, []string{b.Name, b.Taken.Format(madeAt), strings.ReplaceAll(b.Reason, "-", " "), kibibytes(b.Bytes)})
	}
	return table
}
