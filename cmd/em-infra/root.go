package main

import "github.com/spf13/cobra"

func newRootCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "em-infra",
		Short:         "Talos Linux Kubernetes clusters on Proxmox VE, from two inventory files",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.AddCommand(
		newValidateCommand(),
		newPreviewCommand(),
		newUpCommand(),
		newDestroyCommand(),
		newLabCommand(),
		newToolsCommand(),
		newNodeCommand(),
	)
	return command
}
