package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRootCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           toolName,
		Short:         "Talos Linux Kubernetes clusters on Proxmox VE, from two inventory files",
		Version:       ownVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	command.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	bindDirectory(command)
	bindColor(command)
	command.AddCommand(
		newInitCommand(),
		newExampleCommand(),
		newManualsCommand(),
		newValidateCommand(),
		newPreflightCommand(),
		newRoleCommand(),
		newPreviewCommand(),
		newUpCommand(),
		newDestroyCommand(),
		newVersionsCommand(),
		newStatusCommand(),
		newDriftCommand(),
		newRebootCommand(),
		newTaskCommand(),
		newRehearseCommand(),
		newExplainCommand(),
		newGraphCommand(),
		newReportCommand(),
		newAdoptCommand(),
		newStateCommand(),
		newListStacksCommand(),
		newFormatCommand(),
		newOutputsCommand(),
		newResourcesCommand(),
		newEtcdCommand(),
		newKitCommand(),
		newLabCommand(),
		newToolsCommand(),
		newNodeCommand(),
		newPoolCommand(),
		newHostCommand(),
		newClusterCommand(),
		newGuardCommand(),
		newPluginCommand(),
		newISOCommand(),
		newImageCommand(),
		newContainerCommand(),
		newSecretsCommand(),
		newCredentialsCommand(),
		newKubeconfigCommand(),
		newRotateCommand(),
		newCICommand(),
	)
	command.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return refused(fmt.Errorf("%w: see `%s --help`", err, command.CommandPath()))
	})
	fitHelp(command)
	for _, group := range append(command.Commands(), command) {
		if group.HasSubCommands() {
			refuseUnknown(group)
		}
	}
	return command
}

// refuseUnknown makes a misspelt command an error; cobra would print the help and exit with 0.
func refuseUnknown(group *cobra.Command) {
	group.Args = cobra.ArbitraryArgs
	group.RunE = func(group *cobra.Command, args []string) error {
		if len(args) == 0 {
			return group.Help()
		}
		return refused(fmt.Errorf("%q is no command of %s: see `%s --help`", args[0], group.CommandPath(), group.CommandPath()))
	}
}
