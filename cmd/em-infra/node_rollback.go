package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
)

func newNodeRollbackCommand() *cobra.Command {
	var (
		flags        stackFlags
		drainTimeout time.Duration
	)
	command := &cobra.Command{
		Use:   "rollback --stack STACK NODE",
		Short: "Return a node to the release of Talos before its last upgrade",
		Long: `Return a node to the release of Talos before its last upgrade, which is still on its disk: when the other members of etcd are
healthy and the other Nodes are Ready, and after its pods were evicted as PodDisruptionBudgets allow. It works once: a second
rollback goes forward again. The machine configuration and the data stay as they are, and so does the inventory: the next
` + "`em-infra up`" + ` upgrades the node again. With ` + nodeops.OverrideVariable + `=yes, pods that are still held back after
--drain-timeout are deleted.`,
		Example: "  em-infra node rollback --stack k3s-dev k3s-dev-worker-1",
		Args:    cobra.ArbitraryArgs, // the name of a node
		RunE: func(command *cobra.Command, names []string) error {
			if len(names) != 1 {
				return refused(errors.New("give the name of one node: `em-infra status` says what each of them runs"))
			}
			o, err := flags.open(streamsOf(command))
			if err != nil {
				return err
			}
			return o.Rollback(command.Context(), operator.RollbackOptions{
				Node: names[0], DrainTimeout: drainTimeout, DeleteHeldBack: os.Getenv(nodeops.OverrideVariable) == "yes",
			})
		},
	}
	command.ValidArgsFunction = onlyFirst(flags.completeNodes)
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().DurationVar(&drainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	return command
}
