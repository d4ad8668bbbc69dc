package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/truenas/provider"
)

// newPluginCommand serves provider plugins of our own to the engine, which starts them by the scripts of [provider.Install].
func newPluginCommand() *cobra.Command {
	command := &cobra.Command{
		Use:    "plugin",
		Short:  "Provider plugins of em-infra itself, started by the engine",
		Hidden: true,
	}
	command.AddCommand(&cobra.Command{
		Use:    provider.Name + " ENGINE",
		Short:  "Serve the resources of TrueNAS to the engine at an address",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return provider.Serve(command.Context(), args[0], command.OutOrStdout())
		},
	})
	return command
}
