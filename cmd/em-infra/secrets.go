package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
)

func newSecretsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "secrets",
		Short: "The secrets of a stack in secrets.sops.yaml, encrypted with SOPS",
	}
	command.AddCommand(
		newSecretsInitCommand(), newSecretsEditCommand(), newSecretsShowKeysCommand(), newSecretsRotateCommand(), newSecretsRecipientsCommand(),
		newSecretsRevealCommand(),
	)
	return command
}

func newSecretsRevealCommand() *cobra.Command {
	var folder string
	command := &cobra.Command{
		Use:   "reveal --inventory FOLDER",
		Short: "Pass the secrets beside an inventory to the program, through a pipe",
		Long: `Pass the secrets beside an inventory to the program, in clear text, as JSON, through a pipe; a terminal gets none. The age key
is looked for where sops looks for it.`,
		Example: "  em-infra secrets reveal --inventory stacks/k3s-dev | jq keys",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if isTerminal(os.Stdout) {
				return refused(errors.New("secrets are not for a screen: see them with `sops decrypt " + secrets.File + "`"))
			}
			values, err := secrets.Read(command.Context(), folder)
			if err != nil {
				return refused(err)
			}
			return writeJSON(command.OutOrStdout(), values)
		},
	}
	command.Flags().StringVar(&folder, "inventory", ".", "the folder with secrets.sops.yaml")
	return command
}
