package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

func newStatusCommand() *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	command := &cobra.Command{
		Use:   "status --stack STACK",
		Short: "Show machines, Talos, etcd, Kubernetes, credentials, state, orphans; only reads",
		Long: `Show each machine as Proxmox VE, Talos and Kubernetes see it, the credentials with their age and their end, the members of
etcd, the last run, operations that never ended, locks with their owners, and orphans: machines, disks and ISOs on the host that
nothing uses any more. The credentials that end first are listed first, with the command that rotates them.

Exit codes: 0 everything is sound, 1 something is not, or could not be read.`,
		Example: "  em-infra status --stack k3s-dev\n  em-infra status --stack k3s-dev --lab --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			return runReport(command, flags, output, (*operator.Operator).Status)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}
