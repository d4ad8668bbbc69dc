package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newListStacksCommand() *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "list",
		Short: "List the stacks of the project; only reads files",
		Long: `List the stacks of the project: their kinds and clusters, the hosts that their machines are on, and where their states are. Only files are read.

Exit codes: 0 the stacks are listed, 3 the files of one of them cannot be used.`,
		Example: "  em-infra list\n  em-infra list --output json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			found, err := operator.Stacks("")
			if err != nil {
				return err
			}
			return printStacks(streamsOf(command), output, found)
		},
	}
	bindOutput(command, &output)
	return command
}

func printStacks(s streams, output string, found []operator.StackSummary) error {
	var problems []string
	for _, one := range found {
		if one.Problem != "" {
			problems = append(problems, one.Stack+": "+one.Problem)
		}
	}
	var err error
	switch {
	case output == outputJSON:
		err = writeJSON(s.out, found)
	case len(found) == 0:
		_, err = fmt.Fprintln(s.out, "no stack in this project: a stack has a file Pulumi.STACK.yaml")
	default:
		err = stacksTable(found).Write(s.out)
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	fmt.Fprintln(s.err, asTyped(strings.Join(problems, "\n")))
	return errUnsound
}

func stacksTable(found []operator.StackSummary) terminal.Table {
	table := terminal.Table{Header: []string{"STACK", "KIND", "CLUSTER", "NODES", "HOSTS", "PROXMOX VE", "STATE"}}
	for _, one := range found {
		kind, nodes := "unknown", ""
		if one.Kind != "" {
			kind = string(one.Kind)
		}
		if one.Cluster != "" {
			nodes = fmt.Sprintf("%d+%d", one.ControlPlanes, one.Workers)
		}
		row := []string{one.Stack, kind, one.Cluster, nodes, strings.Join(one.Hosts, ", "), one.Endpoint, shownState(one.State)}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// shownState returns a folder of this machine as it is called from here, and any other URL as it is.
func shownState(url string) string {
	if folder, isFolder := strings.CutPrefix(url, "file://"); isFolder {
		return workspace.Nearby(folder)
	}
	return url
}
