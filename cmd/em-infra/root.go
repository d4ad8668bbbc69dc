package main

import (
	"fmt"
	"slices"

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
	command.AddCommand(slices.Concat(stackCommands(), toolCommands(), programCommands())...)
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

// stackCommands returns the commands that work on a stack, from its inventory to its end.
func stackCommands() []*cobra.Command {
	return []*cobra.Command{
		newInitCommand(),
		newExampleCommand(),
		newValidateCommand(),
		newFormatCommand(),
		newPreflightCommand(),
		newRoleCommand(),
		newPreviewCommand(),
		newUpCommand(),
		newDestroyCommand(),
		newRehearseCommand(),
		newVersionsCommand(),
		newStatusCommand(),
		newDriftCommand(),
		newRebootCommand(),
		newTaskCommand(),
		newGraphCommand(),
		newReportCommand(),
		newAdoptCommand(),
		newStateCommand(),
		newListStacksCommand(),
		newSiteCommand(),
		newOutputsCommand(),
		newResourcesCommand(),
		newEtcdCommand(),
		newKitCommand(),
		newSecretsCommand(),
		newCredentialsCommand(),
		newKubeconfigCommand(),
		newRotateCommand(),
	}
}

// toolCommands returns the commands that need no stack.
func toolCommands() []*cobra.Command {
	return []*cobra.Command{newExplainCommand(), newLabCommand(), newToolsCommand(), newCICommand(), newManualsCommand()}
}

// programCommands returns the commands that the program's Commands and the engine call, not people.
func programCommands() []*cobra.Command {
	return []*cobra.Command{
		newNodeCommand(),
		newPoolCommand(),
		newHostCommand(),
		newClusterCommand(),
		newGuardCommand(),
		newPluginCommand(),
		newISOCommand(),
		newImageCommand(),
		newContainerCommand(),
	}
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
