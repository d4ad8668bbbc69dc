package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

func newNodeUpgradeCommand() *cobra.Command {
	var node upgrade.Node
	command := &cobra.Command{
		Use:   "upgrade --name NAME --address ADDRESS --image IMAGE",
		Short: "Bring another release of Talos to a node, in place",
		Long: `Bring the release of an installer image to a node, in place, unless the node runs it: order the upgrade, follow it, and compare
boot, version and schematic afterwards. A control plane hands the leadership of etcd on before. It does not drain the node and does not
wait until it works again, which ` + "`em-infra up`" + ` does. It can be repeated after any failure. The talosconfig is read from
` + talosconfigVariable + `.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node upgrade --name k3s-dev-worker-1 --address 192.168.20.21 --image factory.talos.dev/nocloud-installer/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba:v1.12.11`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if node.Name == "" {
				return refused(errors.New("--name is empty: give the name of the node"))
			}
			if node.Talosconfig, err = nodeCredentials(node.Address); err != nil {
				return err
			}
			node.Progress = command.OutOrStdout()
			return node.Run(command.Context())
		},
	}
	command.Flags().StringVar(&node.Name, "name", "", "the node's name")
	bindNodeAddress(command, &node.Address)
	command.Flags().StringVar(&node.Image, "image", "", "the installer image of the release, of an Image Factory")
	command.Flags().BoolVar(&node.ControlPlane, "control-plane", false, "the node is a control plane, whose etcd is looked at first")
	return command
}
