package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
)

func newNodeRemoveCommand() *cobra.Command {
	var (
		worker       removal.Worker
		controlPlane bool
	)
	command := &cobra.Command{
		Use:   "remove --name NAME --address ADDRESS",
		Short: "Take a worker out of its cluster: drain it, reset it, delete its Node",
		Long: `Take a worker out of its cluster, before its machine is deleted: no new pods, the others evicted as
PodDisruptionBudgets allow, Talos reset and turned off, the Node deleted. A worker that is dead is only forgotten. Control
planes are refused. The talosconfig is read from ` + talosconfigVariable + `; with ` + nodeops.OverrideVariable + `=yes, pods
that are still held back after --drain-timeout are deleted.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node remove --name k3s-dev-worker-1 --address 192.168.20.21`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if worker.Name == "" {
				return refused(errors.New("--name is empty: give the name of the node"))
			}
			if controlPlane {
				return refused(controlPlaneStays(worker.Name))
			}
			if worker.Talosconfig, err = nodeCredentials(worker.Address); err != nil {
				return err
			}
			worker.DeleteHeldBack = os.Getenv(nodeops.OverrideVariable) == "yes"
			worker.Progress = command.OutOrStdout()
			return worker.Run(command.Context())
		},
	}
	command.Flags().StringVar(&worker.Name, "name", "", "the node's name")
	bindNodeAddress(command, &worker.Address)
	command.Flags().DurationVar(&worker.DrainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	command.Flags().BoolVar(&controlPlane, "control-plane", false, "the node is a control plane, which is refused")
	return command
}

// controlPlaneStays returns why a control plane is not removed: etcd would keep counting its member (F25).
func controlPlaneStays(name string) error {
	return fmt.Errorf("%s is a control plane, and removing or replacing one is not supported yet, because etcd would go on counting its member: put it back into nodes.yaml as it was; to delete the whole cluster, run destroy", name)
}
