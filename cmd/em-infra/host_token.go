package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostTokenVariable passes the wanted token, without its secret, to the operations that the program's Commands call.
const hostTokenVariable = "EM_INFRA_HOST_TOKEN"

func newHostTokenCommand() *cobra.Command {
	token := &cobra.Command{Use: "token", Short: "Operations on an API token for another program"}
	token.AddCommand(
		newHostTokenOperation("apply", "Make or change a token, and print USER@REALM!NAME=SECRET", func(command *cobra.Command, run pve.HostTokenRun) error {
			made, err := run.Apply(command.Context())
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), made) // the Command keeps it as a secret, and does not log it
			return nil
		}),
		newHostTokenOperation("release", "Delete a token that the stack has made", func(command *cobra.Command, run pve.HostTokenRun) error {
			outcome, err := run.Release(command.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "token %s: %s\n", run.Wanted.ID, outcome)
			return nil
		}),
	)
	refuseUnknown(token)
	return token
}

func newHostTokenOperation(name, short string, operate func(*cobra.Command, pve.HostTokenRun) error) *cobra.Command {
	arguments := hostTokenVariable + " the wanted token, " + formerOutput + " the one that this stack has made"
	return newHostOperation("token "+name, short, arguments, hostTokenRun, operate)
}

// hostTokenRun returns the operation that the environment describes.
func hostTokenRun() (run pve.HostTokenRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostTokenVariable, "token", hostspec.ParseToken); err != nil {
		return run, err
	}
	run.Former = strings.TrimSpace(os.Getenv(formerOutput))
	return run, nil
}
