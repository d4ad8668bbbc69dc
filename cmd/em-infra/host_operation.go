package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

// formerOutput is what the Command has printed before: pulumi-command passes it to updates and deletes.
const formerOutput = "PULUMI_COMMAND_STDOUT"

// newHostOperation returns an operation on hosts, which read takes from the environment with its arguments; use is its path below
// `em-infra host`.
func newHostOperation[R any](use, short, arguments string, read func() (R, error), operate func(*cobra.Command, R) error) *cobra.Command {
	_, name, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use:   name,
		Short: short,
		Long: fmt.Sprintf("%s. The environment has its arguments: %s, and %s, %s and %s how Proxmox VE is reached.",
			short, arguments, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra host " + use,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			run, err := read()
			if err != nil {
				return refused(err)
			}
			return operate(command, run)
		},
	}
}

// sayOutcome returns an operation on a definition that prints its outcome, which the Command keeps in the state.
func sayOutcome[R fmt.Stringer](operate func(R, context.Context) (pve.Outcome, error)) func(*cobra.Command, R) error {
	return func(command *cobra.Command, run R) error {
		outcome, err := operate(run, command.Context())
		if err != nil {
			return err
		}
		fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", run, outcome)
		return nil
	}
}
