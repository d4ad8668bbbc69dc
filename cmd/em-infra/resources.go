package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

func newResourcesCommand() *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	command := &cobra.Command{
		Use:   "resources --stack STACK",
		Short: "List the resources in the state of a stack; only reads",
		Long: `List the resources in the state of a stack: each component, and below it what it is made of. --output json has their
URNs, which commands such as pulumi state take, and their IDs. Only the state is read.`,
		Example: "  em-infra resources --stack k3s-dev\n  em-infra resources --stack k3s-dev --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			found, err := o.Resources(command.Context())
			switch {
			case err != nil:
				return err
			case output == outputJSON:
				return writeJSON(streams.out, found)
			default:
				return resourcesTable(found).Write(streams.out)
			}
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}

func resourcesTable(resources []operator.Resource) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "TYPE", "STATE"}}
	for _, r := range resources {
		kind := r.Type[strings.LastIndex(r.Type, ":")+1:] // the package and module of Pulumi say no more, and are long
		state := ""
		switch {
		case r.Leaves:
			state = "replaced, to be deleted"
		case r.Protected:
			state = "protected"
		}
		table.Rows = append(table.Rows, []string{strings.Repeat("  ", r.Depth) + r.Name, kind, state})
	}
	return table
}
