package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

// These variables pass the connection to Proxmox VE to the operations that the program's Commands call: an environment is not
// visible in the list of processes.
const (
	proxmoxEndpointVariable = "EM_INFRA_PROXMOX_ENDPOINT"
	proxmoxTokenVariable    = "EM_INFRA_PROXMOX_TOKEN"
	nasKeyVariable          = "EM_INFRA_TRUENAS_API_KEY"
	proxmoxInsecureVariable = "EM_INFRA_PROXMOX_INSECURE"
)

func newPoolCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "pool",
		Short: "Operations on a resource pool, called by the program's Commands",
	}
	command.AddCommand(
		newPoolOperation("ensure", "Create a resource pool unless it exists", ensurePool),
		newPoolOperation("release", "Delete a resource pool that em-infra created, unless it has members", releasePool),
	)
	return whileCallerReads(command)
}

func newPoolOperation(name, short string, operation func(context.Context, pve.Connection, string) (string, error)) *cobra.Command {
	command := &cobra.Command{
		Use:   name + " POOL",
		Short: short,
		Long: fmt.Sprintf("%s. Proxmox VE is reached as %s, %s and %s say; the pool is that of the hosts.yaml named in %s, or else of the machines in it.",
			short, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable, pve.PoolOwnerVariable),
		Example: "  " + proxmoxEndpointVariable + "=https://vmhost:8006 " + proxmoxTokenVariable + "='USER@REALM!NAME=SECRET' em-infra pool " + name + " k3s-dev",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			connection, err := connectionFromEnvironment()
			if err != nil {
				return refused(err)
			}
			outcome, err := operation(command.Context(), connection, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "pool %s: %s\n", args[0], outcome)
			return nil
		},
	}
	return command
}

func ensurePool(ctx context.Context, connection pve.Connection, name string) (string, error) {
	made, err := connection.EnsurePool(ctx, name, os.Getenv(pve.PoolOwnerVariable))
	if made {
		return "made", err
	}
	return "there already", err
}

func releasePool(ctx context.Context, connection pve.Connection, name string) (string, error) {
	outcome, err := connection.ReleasePool(ctx, name, os.Getenv(pve.PoolOwnerVariable))
	return string(outcome), err
}

func connectionFromEnvironment() (pve.Connection, error) {
	connection := pve.Connection{Endpoint: os.Getenv(proxmoxEndpointVariable), Token: os.Getenv(proxmoxTokenVariable)}
	if connection.Endpoint == "" || connection.Token == "" {
		return connection, errors.New(proxmoxEndpointVariable + " or " + proxmoxTokenVariable + " is empty: put the endpoint and the token of Proxmox VE there")
	}
	if text := os.Getenv(proxmoxInsecureVariable); text != "" {
		insecure, err := strconv.ParseBool(text)
		if err != nil {
			return connection, fmt.Errorf("%s: %q is neither true nor false: give one of them", proxmoxInsecureVariable, text)
		}
		connection.Insecure = insecure
	}
	return connection, nil
}
