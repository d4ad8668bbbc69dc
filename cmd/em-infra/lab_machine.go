package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/control"
)

func newLabUnlockCommand() *cobra.Command {
	return newLabMachineCommand(&cobra.Command{
		Use:   "unlock VM --stack STACK",
		Short: "Take a VM's lock away, as `qm unlock` does on a real host",
		Long: `Take a VM's lock away, whatever put it there: what "qm unlock VMID" does on a real host, where no API does it. A clone
that was cut short by a power cut leaves a lock that nobody else takes away; the VM can be deleted afterwards.`,
		Example: "  em-infra lab unlock 102 --stack k3s-dev\n  em-infra lab unlock k3s-dev-worker-1 --stack k3s-dev",
	}, (*control.Client).Unlock, "VM %d has no lock any more\n")
}

func newLabResetCommand() *cobra.Command {
	return newLabMachineCommand(&cobra.Command{
		Use:   "reset VM --stack STACK",
		Short: "Restart a VM that hangs, as `qm reset` does on a real host",
		Long: `Restart a VM that runs, as the button on a computer does: what "qm reset VMID" does on a real host, and Reset in its
web interface. Whatever the VM is at ends at once, and it boots with what is on its disks.`,
		Example: "  em-infra lab reset 102 --stack k3s-dev\n  em-infra lab reset k3s-dev-worker-1 --stack k3s-dev",
	}, (*control.Client).Reset, "VM %d boots\n")
}

// newLabMachineCommand completes a command that does something to one VM of a lab, and says so in the given words.
func newLabMachineCommand(command *cobra.Command, do func(*control.Client, context.Context, int) error, done string) *cobra.Command {
	flags := stackFlags{lab: true}
	command.Args = oneName("VM")
	command.RunE = func(command *cobra.Command, args []string) error {
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
		if err := do(console, command.Context(), vmid); err != nil {
			return byLab(err)
		}
		_, err = fmt.Fprintf(command.OutOrStdout(), done, vmid)
		return err
	}
	command.ValidArgsFunction = onlyFirst(flags.completeNodes)
	flags.bindPlace(command)
	return command
}
