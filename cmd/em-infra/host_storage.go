package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostStorageVariable passes a storage to the operations that the program's Commands call; its password is in [pve.StoragePasswordVariable].
const hostStorageVariable = "EM_INFRA_HOST_STORAGE"

// formerOutput is what the Command has printed before: pulumi-command passes it to updates and deletes.
const formerOutput = "PULUMI_COMMAND_STDOUT"

func newHostStorageCommand() *cobra.Command {
	storage := &cobra.Command{Use: "storage", Short: "Operations on the definition of a storage"}
	storage.AddCommand(
		newHostStorageOperation("apply", "Define a storage, or bring the one that is there to what is wanted", pve.StorageRun.Apply),
		newHostStorageOperation("release", "Remove the definition of a storage that the stack has made; its data stay", pve.StorageRun.Release),
	)
	refuseUnknown(storage)
	return storage
}

func newHostStorageOperation(name, short string, operate func(pve.StorageRun, context.Context) (pve.Outcome, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Long: fmt.Sprintf("%s. The environment has its arguments: %s the wanted storage, %s its password, %s whether this stack has made it, and %s, %s and %s how Proxmox VE is reached.",
			short, hostStorageVariable, pve.StoragePasswordVariable, formerOutput, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra host storage " + name,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			run, err := hostStorageRun()
			if err != nil {
				return refused(err)
			}
			outcome, err := operate(run, command.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "storage %s: %s\n", run.Wanted.Name, outcome)
			return nil
		},
	}
}

// hostStorageRun returns the operation that the environment describes.
func hostStorageRun() (run pve.StorageRun, err error) {
	if run.Connection, err = connectionFromEnvironment(); err != nil {
		return run, err
	}
	if run.Wanted, err = wantedOf(hostStorageVariable, "storage", hostspec.ParseStorage); err != nil {
		return run, err
	}
	run.Password = os.Getenv(pve.StoragePasswordVariable)
	run.Made = pve.WasMade(os.Getenv(formerOutput))
	return run, nil
}
