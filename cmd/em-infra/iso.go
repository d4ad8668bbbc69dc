package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

// isoURLVariable passes the URL of an ISO to the operation that the program's Commands call.
const isoURLVariable = "EM_INFRA_ISO_URL"

func newISOCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "iso",
		Short: "Operations on the ISO of a template, called by the program's Commands",
	}
	command.AddCommand(newISOEnsureCommand())
	return whileCallerReads(command)
}

func newISOEnsureCommand() *cobra.Command {
	const short = "Let a host download an ISO unless it exists"
	return &cobra.Command{
		Use:   "ensure HOST STORAGE:iso/FILE",
		Short: short,
		Long: fmt.Sprintf(`%s. A file of that name is taken for the image, and none is ever overwritten or deleted.

The URL is in %s; Proxmox VE is reached as %s, %s and %s say.`, short, isoURLVariable, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  " + isoURLVariable + "=https://factory.talos.dev/image/SCHEMATIC/v1.12.4/nocloud-amd64.iso em-infra iso ensure vmhost local:iso/talos-v1.12.4.iso",
		Args:    cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			connection, err := connectionFromEnvironment()
			if err != nil {
				return refused(err)
			}
			location := os.Getenv(isoURLVariable)
			if location == "" {
				return refused(errors.New(isoURLVariable + " is empty: put the URL of the ISO there"))
			}
			downloaded, err := connection.EnsureISO(command.Context(), pve.ISO{Host: args[0], Volume: args[1]}, location)
			if err != nil {
				return err
			}
			outcome := "there already"
			if downloaded {
				outcome = "downloaded"
			}
			fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", args[1], outcome)
			return nil
		},
	}
}
