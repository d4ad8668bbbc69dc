package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
)

func newNodeGPUCommand() *cobra.Command {
	var (
		node    nodeops.GPUNode
		image   string
		timeout time.Duration
	)
	command := &cobra.Command{
		Use:   "gpu --name NAME --address ADDRESS",
		Short: "Check that a node offers its GPUs to Kubernetes",
		Long: `Wait until a node offers its GPUs as ` + nodeops.GPUResource + `: devices, driver and module as its Talos API shows them,
then what its Node offers. It reports layer by layer what is wrong. With --smoke-test a pod uses a GPU once and is removed.
The talosconfig is read from ` + talosconfigVariable + `.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node gpu --name k3s-dev-gpu-1 --address 192.168.20.31`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if node.Name == "" {
				return refused(errors.New("--name is empty: give the name of the node"))
			}
			talosconfig, err := nodeCredentials(node.Address)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(command.Context(), timeout)
			defer cancel()
			if err := nodeops.WaitForGPUs(ctx, talosconfig, node); err != nil || image == "" {
				return err
			}
			return nodeops.RunOnGPU(ctx, talosconfig, node.Name, image)
		},
	}
	command.Flags().StringVar(&node.Name, "name", "", "the node's name")
	bindNodeAddress(command, &node.Address)
	command.Flags().IntVar(&node.Devices, "devices", 1, "how many GPUs its machine has")
	command.Flags().IntVar(&node.Offered, "offered", 1, "how many "+nodeops.GPUResource+" it should offer")
	command.Flags().StringVar(&image, "smoke-test", "", "image of a pod that uses a GPU and ends with success")
	command.Flags().DurationVar(&timeout, "timeout", 15*time.Minute, "give up after this time")
	return command
}
