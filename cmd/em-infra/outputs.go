package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// shownSecret stands for a secret that was not asked for.
const shownSecret = "[secret]"

func newOutputsCommand() *cobra.Command {
	var (
		flags   stackFlags
		options operator.OutputsOptions
		output  string
	)
	command := &cobra.Command{
		Use:   "outputs [NAME] --stack STACK",
		Short: "Show the outputs of a stack; only reads",
		Long: `Show the outputs of a stack, as its last run has left them. Secrets, such as the kubeconfig, are shown with --show-secrets. With NAME,
only the value of that output is printed, as a script wants it. Only the state is read.`,
		Example: "  em-infra outputs --stack k3s-dev\n  em-infra outputs talosNodeAddresses --stack k3s-dev\n  em-infra outputs kubeconfig --stack k3s-dev --show-secrets > ~/k3s-dev.kubeconfig",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if len(args) == 1 {
				options.Name = args[0]
			}
			streams := streamsOf(command)
			o, err := flags.open(streams.aside())
			if err != nil {
				return err
			}
			found, err := o.Outputs(command.Context(), options)
			switch {
			case err != nil:
				return err
			case options.Name != "" && found[0].Secret && !options.Secrets:
				return refused(errors.New(options.Name + " is a secret: add --show-secrets to print it"))
			case output == outputJSON:
				return writeJSON(streams.out, found)
			case options.Name != "":
				_, err := fmt.Fprintln(streams.out, valueText(found[0]))
				return err
			default:
				return outputsTable(found).Write(streams.out)
			}
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	command.Flags().BoolVar(&options.Secrets, "show-secrets", false, "print the values of secrets, too")
	return command
}

func outputsTable(outputs []operator.Output) terminal.Table {
	table := terminal.Table{Header: []string{"NAME", "VALUE"}}
	for _, one := range outputs {
		table.Rows = append(table.Rows, []string{one.Name, valueText(one)})
	}
	return table
}

// valueText returns a text as it is, and any other value as JSON in one line.
func valueText(one operator.Output) string {
	if one.Secret && one.Value == nil {
		return shownSecret
	}
	if text, isText := one.Value.(string); isText {
		return text
	}
	text, err := json.Marshal(one.Value)
	if err != nil {
		return err.Error() // what came from JSON is JSON
	}
	return string(text)
}
