package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostAccessVariable passes the wanted access control to the operations that the program's Commands call.
const hostAccessVariable = "EM_INFRA_HOST_ACCESS"

func newHostAccessCommand() *cobra.Command {
	access := &cobra.Command{Use: "access", Short: "Operations on roles, groups, users and permissions"}
	access.AddCommand(
		newHostAccessOperation("apply", "Bring roles, groups, users and permissions to what is wanted", func(command *cobra.Command, run pve.AccessRun) ([]string, error) {
			return run.Apply(command.Context())
		}),
		newHostAccessOperation("release", "Delete the roles, groups, users and permissions that the stack has made", func(command *cobra.Command, run pve.AccessRun) ([]string, error) {
			return nil, run.Release(command.Context())
		}),
	)
	refuseUnknown(access)
	return access
}

func newHostAccessOperation(name, short string, operate func(*cobra.Command, pve.AccessRun) ([]string, error)) *cobra.Command {
	arguments := hostAccessVariable + " what is wanted, " + formerOutput + " what this stack has made"
	return newHostOperation("access "+name, short, arguments, hostAccessRun, func(command *cobra.Command, run pve.AccessRun) error {
		made, err := operate(command, run)
		if err != nil {
			return err
		}
		fmt.Fprintln(command.OutOrStdout(), hostspec.MadeText(made))
		return nil
	})
}

// hostAccessRun returns the operation that the environment describes.
func hostAccessRun() (run pve.AccessRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostAccessVariable, "access control", hostspec.ParseAccess); err != nil {
		return run, err
	}
	run.Made, err = madeBefore()
	return run, err
}
