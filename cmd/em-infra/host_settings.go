package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// What is wanted is passed to the operations that the program's Commands call in these variables.
const (
	hostSettingsVariable   = "EM_INFRA_HOST_SETTINGS"
	hostOptionsVariable    = "EM_INFRA_HOST_OPTIONS"
	hostDefinitionVariable = "EM_INFRA_HOST_DEFINITION"
)

func newHostSettingsCommand() *cobra.Command {
	const added = formerOutput + " the names that this stack has added"
	settings := &cobra.Command{Use: "settings", Short: "Operations on what a host always has"}
	settings.AddCommand(
		newHostOperation("settings apply", "Set the time zone, names and package repositories of a host", hostSettingsVariable+" the wanted settings, "+added, hostSettingsRun,
			func(command *cobra.Command, run pve.HostSettingsRun) error {
				made, err := run.Apply(command.Context())
				if err != nil {
					return err
				}
				fmt.Fprintln(command.OutOrStdout(), hostspec.MadeText(made))
				return nil
			}),
		newHostOperation("settings release", "Take the names away that the stack has added to a host", hostSettingsVariable+" the settings, "+added, hostSettingsRun,
			func(command *cobra.Command, run pve.HostSettingsRun) error { return run.Release(command.Context()) }),
	)
	refuseUnknown(settings)
	return settings
}

func newHostOptionsCommand() *cobra.Command {
	options := &cobra.Command{Use: "options", Short: "Operations on options of the whole cluster"}
	options.AddCommand(newHostOperation("options apply", "Set options of the whole cluster", hostOptionsVariable+" the wanted options", hostOptionsRun, func(command *cobra.Command, run pve.OptionsRun) error {
		changed, err := run.Apply(command.Context())
		if err != nil {
			return err
		}
		outcome := "as they were"
		if changed {
			outcome = "set"
		}
		fmt.Fprintf(command.OutOrStdout(), "options of the cluster: %s\n", outcome)
		return nil
	}))
	refuseUnknown(options)
	return options
}

func newHostDefinitionCommand() *cobra.Command {
	const arguments = hostDefinitionVariable + " the wanted definition, " + pve.DefinitionSecretVariable + " its secret, " + formerOutput + " whether this stack has made it"
	definition := &cobra.Command{Use: "definition", Short: "Operations on a metric server or a backup job"}
	definition.AddCommand(
		newHostOperation("definition apply", "Define a metric server or a backup job, or change the one that is there", arguments, hostDefinitionRun, sayOutcome(pve.DefinitionRun.Apply)),
		newHostOperation("definition release", "Remove a metric server or a backup job that the stack has made", arguments, hostDefinitionRun, sayOutcome(pve.DefinitionRun.Release)),
	)
	refuseUnknown(definition)
	return definition
}

// hostSettingsRun returns the operation that the environment describes.
func hostSettingsRun() (run pve.HostSettingsRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostSettingsVariable, "settings of the host", hostspec.ParseHostSettings); err != nil {
		return run, err
	}
	run.Made, err = madeBefore()
	return run, err
}

// hostOptionsRun returns the operation that the environment describes.
func hostOptionsRun() (run pve.OptionsRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	run.Wanted, err = wantedOf(hostOptionsVariable, "options", hostspec.ParseOptions)
	return run, err
}

// hostDefinitionRun returns the operation that the environment describes.
func hostDefinitionRun() (run pve.DefinitionRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostDefinitionVariable, "definition", hostspec.ParseDefinition); err != nil {
		return run, err
	}
	run.Secret, run.Made = os.Getenv(pve.DefinitionSecretVariable), pve.WasMade(os.Getenv(formerOutput))
	return run, nil
}

// madeBefore returns the names of what an earlier run of the Command has made.
func madeBefore() ([]string, error) {
	made, err := hostspec.ParseMade(os.Getenv(formerOutput))
	if err != nil {
		return nil, fmt.Errorf("%s: %w: run up again with the version of em-infra that wrote it", formerOutput, err)
	}
	return made, nil
}
