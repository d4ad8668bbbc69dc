package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newDriftCommand() *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	command := &cobra.Command{
		Use:   "drift --stack STACK",
		Short: "Compare what runs with the inventory, on the host and on the nodes; only reads",
		Long: `Compare what runs with the inventory: the resources of Proxmox VE as they are now, and on each node the release of
Talos, the schematic, and the machine configuration that is active. A change of the inventory that was not applied yet is
a difference, too. The next up mends what was changed by hand; where versions differ, a sentence says what it would do,
since it never goes back to an older one.

Exit codes: 0 no drift, 1 something could not be read, 2 drift was found.`,
		Example: "  em-infra drift --stack k3s-dev\n  em-infra drift --stack k3s-dev --output json   # for a timer that reports drift",
		RunE: func(command *cobra.Command, _ []string) error {
			return runReport(command, flags, output, (*operator.Operator).Drift)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}
