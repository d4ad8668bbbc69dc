package main

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// talosconfigVariable passes a talosconfig to the operations that the program's Commands call: an environment is not visible in
// the list of processes.
const talosconfigVariable = "EM_INFRA_TALOSCONFIG"

func newNodeCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "node",
		Short: "Operations on one node, most of them called by the program's Commands",
	}
	command.AddCommand(newNodeWaitCommand(), newNodeUpgradeCommand(), newNodeRollbackCommand(), newNodeRemoveCommand(), newNodeReadyCommand(), newNodeGPUCommand())
	return whileCallerReads(command)
}

func newNodeWaitCommand() *cobra.Command {
	var (
		address string
		timeout time.Duration
	)
	command := &cobra.Command{
		Use:     "wait --address ADDRESS",
		Short:   "Wait until the node's Talos API answers under the cluster's PKI",
		Long:    "Wait until the node's Talos API answers under the cluster's PKI. The talosconfig is read from " + talosconfigVariable + ".",
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node wait --address 192.168.20.11`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			talosconfig, err := nodeCredentials(address)
			if err != nil {
				return err
			}
			out := command.OutOrStdout()
			return nodeops.Wait{
				Talosconfig: talosconfig, Address: address, Limit: timeout,
				Say: func(text string) { fmt.Fprintln(out, text) },
			}.UntilSecure(command.Context())
		},
	}
	bindNodeAddress(command, &address)
	command.Flags().DurationVar(&timeout, "timeout", 15*time.Minute, "give up after this time")
	return command
}

func bindNodeAddress(command *cobra.Command, address *string) {
	command.Flags().StringVar(address, "address", "", "the node's own address")
}

// nodeCredentials returns the talosconfig. It refuses an invalid address and a missing talosconfig.
func nodeCredentials(address string) (talosconfig []byte, err error) {
	if _, err := netip.ParseAddr(address); err != nil {
		return nil, refused(fmt.Errorf("--address: %q is not an IP address: give the node's own", address))
	}
	return clusterCredentials()
}
