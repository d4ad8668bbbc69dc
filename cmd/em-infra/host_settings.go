package main

import (
	"fmt"
	"os"
	"strings"

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
	settings := &cobra.Command{Use: "settings", Short: "Operations on what a host always has"}
	settings.AddCommand(
		newHostOperation("settings apply", "Set the time zone, names and package repositories of a host", hostSettingsVariable+" the wanted settings, "+formerOutput+" the names that this stack has added",
			func(command *cobra.Command) error {
				run, err := hostSettingsRun()
				if err != nil {
					return refused(err)
				}
				made, err := run.Apply(command.Context())
				if err != nil {
					return err
				}
				fmt.Fprintln(command.OutOrStdout(), hostspec.MadeText(made))
				return nil
			}),
		newHostOperation("settings release", "Take the names away that the stack has added to a host", hostSettingsVariable+" the settings, "+formerOutput+" the names that this stack has added",
			func(command *cobra.Command) error {
				run, err := hostSettingsRun()
				if err != nil {
					return refused(err)
				}
				return run.Release(command.Context())
			}),
	)
	refuseUnknown(settings)
	return settings
}

func newHostOptionsCommand() *cobra.Command {
	options := &cobra.Command{Use: "options", Short: "Operations on options of the whole cluster"}
	options.AddCommand(newHostOperation("options apply", "Set options of the whole cluster", hostOptionsVariable+" the wanted options", func(command *cobra.Command) error {
		connection, err := connectionFromEnvironment()
		if err != nil {
			return refused(err)
		}
		wanted, err := wantedOf(hostOptionsVariable, "options", hostspec.ParseOptions)
		if err != nil {
			return refused(err)
		}
		changed, err := pve.OptionsRun{Connection: connection, Wanted: wanted}.Apply(command.Context())
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
	arguments := hostDefinitionVariable + " the wanted definition, " + pve.DefinitionSecretVariable + " its secret, " + formerOutput + " whether this stack has made it"
	operation := func(use, short string, operate func(*cobra.Command, pve.DefinitionRun) (pve.Outcome, error)) *cobra.Command {
		return newHostOperation(use, short, arguments, func(command *cobra.Command) error {
			run, err := hostDefinitionRun()
			if err != nil {
				return refused(err)
			}
			outcome, err := operate(command, run)
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", run.Wanted, outcome)
			return nil
		})
	}
	definition := &cobra.Command{Use: "definition", Short: "Operations on a metric server or a backup job"}
	definition.AddCommand(
		operation("definition apply", "Define a metric server or a backup job, or change the one that is there", func(command *cobra.Command, run pve.DefinitionRun) (pve.Outcome, error) {
			return run.Apply(command.Context())
		}),
		operation("definition release", "Remove a metric server or a backup job that the stack has made", func(command *cobra.Command, run pve.DefinitionRun) (pve.Outcome, error) {
			return run.Release(command.Context())
		}),
	)
	refuseUnknown(definition)
	return definition
}

// newHostOperation returns an operation on hosts whose arguments are in the environment; use is its path below `em-infra host`.
func newHostOperation(use, short, arguments string, operate func(*cobra.Command) error) *cobra.Command {
	_, name, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use:   name,
		Short: short,
		Long: fmt.Sprintf("%s. The environment has its arguments: %s, and %s, %s and %s how Proxmox VE is reached.",
			short, arguments, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra host " + use,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return operate(command) },
	}
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
