package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
)

func newNodeReadyCommand() *cobra.Command {
	var (
		awaited nodeops.Awaited
		timeout time.Duration
	)
	command := &cobra.Command{
		Use:   "ready [--server URL] [--node NAME]...",
		Short: "Wait until the Kubernetes API answers and Nodes are Ready",
		Long: `Wait until the Kubernetes API of a control plane answers, and where clients look for it, and the named Nodes are Ready;
without a name, for the API alone. The talosconfig is read from ` + talosconfigVariable + `.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra node ready --node k3s-dev-worker-1`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			talosconfig, err := clusterCredentials()
			if err != nil {
				return err
			}
			out := command.OutOrStdout()
			awaited.Limit, awaited.Say = timeout, func(text string) { fmt.Fprintln(out, text) }
			return nodeops.WaitUntilReady(command.Context(), talosconfig, awaited)
		},
	}
	command.Flags().StringVar(&awaited.Server, "server", "", "URL at which the API has to answer, too, e.g. https://192.168.20.10:6443")
	command.Flags().StringSliceVar(&awaited.Nodes, "node", nil, "name of a Node; may be given more than once")
	command.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "give up after this time")
	return command
}

// clusterCredentials returns the talosconfig of the cluster's administrator.
func clusterCredentials() (talosconfig []byte, err error) {
	text := os.Getenv(talosconfigVariable)
	if text == "" {
		return nil, refused(errors.New(talosconfigVariable + " is empty: put the stack's output talosconfig there"))
	}
	return []byte(text), nil
}
