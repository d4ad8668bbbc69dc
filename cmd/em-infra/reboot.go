package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
)

func newRebootCommand() *cobra.Command {
	var (
		flags        stackFlags
		all          bool
		drainTimeout time.Duration
	)
	command := &cobra.Command{
		Use:   "reboot --stack STACK NODE...",
		Short: "Reboot nodes one after the other, each when the cluster can do without it",
		Long: `Reboot nodes by their Talos API, one after the other: each when the other members of etcd are healthy and the other
Nodes are Ready, after its pods were evicted as PodDisruptionBudgets allow, and the next only when the one before works again.
Use it to let a node use the space of a disk that has grown. If a node does not come back, the command ends and leaves the rest
untouched. With ` + nodeops.OverrideVariable + `=yes, pods that are still held back after --drain-timeout are deleted.`,
		Example: "  em-infra reboot --stack k3s-dev k3s-dev-worker-1\n  em-infra reboot --stack k3s-dev --all --yes",
		Args:    cobra.ArbitraryArgs, // the names of nodes
		RunE: func(command *cobra.Command, names []string) error {
			if all == (len(names) > 0) {
				return refused(errors.New("give the names of the nodes to reboot, or --all: `em-infra status` says which ones wait for a boot"))
			}
			o, err := flags.open(streamsOf(command))
			if err != nil {
				return err
			}
			return o.Reboot(command.Context(), operator.RebootOptions{
				Nodes: names, DrainTimeout: drainTimeout, DeleteHeldBack: os.Getenv(nodeops.OverrideVariable) == "yes",
			})
		},
	}
	command.ValidArgsFunction = flags.completeNodes
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().BoolVar(&all, "all", false, "all nodes of the inventory, in its order")
	command.Flags().DurationVar(&drainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	return command
}
