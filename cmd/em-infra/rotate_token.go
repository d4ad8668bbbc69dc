package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newRotateTokenCommand() *cobra.Command {
	var (
		flags    stackFlags
		options  operator.RotateTokenOptions
		isDryRun bool
	)
	command := &cobra.Command{
		Use:   "proxmox-token --stack STACK",
		Short: "Replace the token of Proxmox VE by a second one",
		Long: `Replace the token of Proxmox VE by a second one of the same user with the same privileges. The first run makes it, tries it and
writes it into the configuration of the stack. After em-infra up the second run deletes the former token. If a run is killed, run it
again.

A token may not manage the tokens of its own user. So put one that may into ` + operator.AdministratorVariable + `, as
USER@REALM!NAME=SECRET: it needs User.Modify on /access/groups, and Permissions.Modify on / for a token with privileges of its own.`,
		Example: "  em-infra rotate proxmox-token --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if isDryRun {
				return printSteps(streams.out, operator.TokenRotationSteps)
			}
			options.Administrator = os.Getenv(operator.AdministratorVariable)
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			rotated, err := o.RotateToken(command.Context(), options)
			if err != nil {
				return err
			}
			if rotated.Made == "" {
				fmt.Fprintf(streams.out, "the former token %s is deleted\n", rotated.Former)
				return nil
			}
			place := o.Workspace()
			fmt.Fprintf(streams.out, "%s contains the token %s; commit it\n", workspace.Nearby(place.StackFile()), rotated.Made)
			fmt.Fprintf(streams.out, "next: %s, then %s   # deletes %s\n", typed("up %s", o.Place()), typed("rotate proxmox-token %s", o.Place()), rotated.Former)
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().DurationVar(&options.Lifetime, "lifetime", 0, "how long the new token is valid, e.g. 8760h (default: it has no end)")
	command.Flags().BoolVar(&isDryRun, "dry-run", false, "print the steps and change nothing")
	return command
}
