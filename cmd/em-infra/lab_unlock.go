package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newLabUnlockCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:   "unlock VM --stack STACK",
		Short: "Take a VM's lock away, as `qm unlock` does on a real host",
		Long: `Take a VM's lock away, whatever put it there: what "qm unlock VMID" does on a real host, where no API does it. A clone
that was cut short by a power cut leaves a lock that nobody else takes away; the VM can be deleted afterwards.`,
		Example: "  em-infra lab unlock 102 --stack k3s-dev\n  em-infra lab unlock k3s-dev-worker-1 --stack k3s-dev",
		Args:    oneName("VM"),
		RunE: func(command *cobra.Command, args []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			vmid, err := vmidOf(args[0], inv)
			if err != nil {
				return refused(err)
			}
			console, err := consoleOf(w)
			if err != nil {
				return err
			}
			if err := console.Unlock(command.Context(), vmid); err != nil {
				return byLab(err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "VM %d has no lock any more\n", vmid)
			return err
		},
	}
	command.ValidArgsFunction = onlyFirst(flags.completeNodes)
	flags.bindPlace(command)
	return command
}
