package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// hostStorageVariable passes a storage to the operations that the program's Commands call; its password is in [pve.StoragePasswordVariable].
const hostStorageVariable = "EM_INFRA_HOST_STORAGE"

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
	arguments := hostStorageVariable + " the wanted storage, " + pve.StoragePasswordVariable + " its password, " + formerOutput + " whether this stack has made it"
	return newHostOperation("storage "+name, short, arguments, hostStorageRun, sayOutcome(operate))
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
