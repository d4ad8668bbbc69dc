package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

func newNodeRemoveCommand() *cobra.Command {
	var (
		node         removal.Node
		controlPlane bool
	)
	command := &cobra.Command{
		Use:   "remove --name NAME --address ADDRESS",
		Short: "Take a node out of its cluster: drain it, reset it, delete its Node",
		Long: `Take a node out of its cluster before its machine is deleted. The node is cordoned and drained, as far as PodDisruptionBudgets allow;
Talos is reset and switched off; the Node is deleted. Of a dead worker only the Node is deleted. A control plane leaves etcd first, one
at a time, when etcd keeps its quorum without it; the member of a dead one is removed. ` + removal.StayVariable + ` names the control
planes that stay; without it no control plane is removed. The talosconfig is read from ` + talosconfigVariable + `; with ` + nodeops.OverrideVariable + `=yes, pods
that are still held back after --drain-timeout are deleted.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node remove --name k3s-dev-worker-1 --address 192.168.20.21`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if node.Name == "" {
				return refused(errors.New("--name is empty: give the name of the node"))
			}
			stay, err := controlPlanesThatStay()
			if err != nil {
				return refused(fmt.Errorf("%s: %w", removal.StayVariable, err))
			}
			if controlPlane && len(stay) == 0 {
				return refused(fmt.Errorf("%s is a control plane, and pulumi alone does not know which control planes stay: run `em-infra up`, which asks for your consent and has its member leave etcd first, or put it back into nodes.yaml as it was", node.Name))
			}
			if node.Talosconfig, err = nodeCredentials(node.Address); err != nil {
				return err
			}
			node.DeleteHeldBack = os.Getenv(nodeops.OverrideVariable) == "yes"
			node.Progress = command.OutOrStdout()
			if controlPlane && os.Getenv(removal.RestoredVariable) == node.Name {
				node.Abandon(command.Context())
				return nil
			}
			if controlPlane {
				return removal.ControlPlane{
					Node: node, Stay: stay, Successor: successorOf(node.Name), Leave: names(os.Getenv(removal.LeaveVariable)),
				}.Remove(command.Context())
			}
			return node.RemoveWorker(command.Context())
		},
	}
	command.Flags().StringVar(&node.Name, "name", "", "the node's name")
	bindNodeAddress(command, &node.Address)
	command.Flags().DurationVar(&node.DrainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	command.Flags().BoolVar(&controlPlane, "control-plane", false, "the node is a control plane")
	return command
}

// controlPlanesThatStay returns what em-infra passed to the engine; none if it was run without em-infra.
func controlPlanesThatStay() ([]rolling.Node, error) {
	texts := names(os.Getenv(removal.StayVariable))
	if len(texts) == 0 {
		return nil, nil
	}
	return namedNodes(texts, nil)
}

// successorOf returns the control plane that has the VMID or address of this one under another name; empty for none.
func successorOf(name string) string {
	for _, pair := range names(os.Getenv(removal.SuccessorsVariable)) {
		if former, successor, _ := strings.Cut(pair, "="); former == name {
			return successor
		}
	}
	return ""
}

// names returns the parts of a list that is separated by commas.
func names(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
