package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostNetworkVariable passes the network of a host to the operations that the program's Commands call.
const hostNetworkVariable = "EM_INFRA_HOST_NETWORK"

func newHostCommand() *cobra.Command {
	command := &cobra.Command{
		Use:    "host",
		Short:  "Operations on a host of Proxmox VE, called by the program's Commands",
		Hidden: true,
	}
	network := &cobra.Command{Use: "network", Short: "Operations on the network of a host"}
	network.AddCommand(
		newHostNetworkOperation("apply", "Bring the interfaces of a host to what is wanted, with one reload", pve.NetworkRun.Apply),
		newHostNetworkOperation("release", "Delete the interfaces of a host that the stack has created, with one reload", pve.NetworkRun.Release),
	)
	refuseUnknown(network)
	command.AddCommand(network, newHostStorageCommand(), newHostAccessCommand(), newHostTokenCommand(),
		newHostSettingsCommand(), newHostOptionsCommand(), newHostDefinitionCommand())
	return whileCallerReads(command)
}

func newHostNetworkOperation(name, short string, operate func(pve.NetworkRun, context.Context) (bool, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Long: fmt.Sprintf("%s. What is wanted is read from %s, and Proxmox VE is reached as %s, %s and %s say.",
			short, hostNetworkVariable, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra host network " + name,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			run, err := hostNetworkRun(command.OutOrStdout())
			if err != nil {
				return refused(err)
			}
			changed, err := operate(run, command.Context())
			if err != nil {
				return err
			}
			outcome := "as it was"
			if changed {
				outcome = "reloaded"
			}
			fmt.Fprintf(command.OutOrStdout(), "network of %s: %s\n", run.Wanted.Node, outcome)
			return nil
		},
	}
}

// wantedOf reads what is wanted from a variable of the environment, in the form of the program.
func wantedOf[T any](variable, what string, parse func(string) (T, error)) (wanted T, err error) {
	text := os.Getenv(variable)
	if text == "" {
		return wanted, fmt.Errorf("%s is empty: put the wanted %s there", variable, what)
	}
	if wanted, err = parse(text); err != nil {
		return wanted, fmt.Errorf("%s: %w: it is written by the program; run up again with this version of em-infra", variable, err)
	}
	return wanted, nil
}

// hostNetworkRun returns the operation that the environment describes. It prints its messages to out.
func hostNetworkRun(out io.Writer) (run pve.NetworkRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostNetworkVariable, "network of the host", hostspec.ParseNetwork); err != nil {
		return run, err
	}
	if allowed := os.Getenv(pve.AllowInterfacesVariable); allowed != "" {
		run.Allowed = strings.Split(allowed, ",")
	}
	run.Say = func(sentence string) { fmt.Fprintln(out, sentence) }
	return run, nil
}
