package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

func newLabDestroyCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:   "destroy VM --stack STACK",
		Short: "Delete a VM that is off, as `qm destroy` does on a real host",
		Long: `Delete a VM with its disks, whether or not any state knows it: what "qm destroy VMID --purge" does on a real host. One that
runs is refused, as it is there.`,
		Example: "  em-infra lab destroy 102 --stack k3s-dev\n  em-infra lab destroy k3s-dev-worker-1 --stack k3s-dev",
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
			d, err := runningLab(w)
			if err != nil {
				return err
			}
			host, err := pve.NewHost(pve.Connection{Endpoint: d.ProxmoxEndpoint(), Token: d.Token, Insecure: true})
			if err != nil {
				return refused(err)
			}
			machine, err := host.Look(command.Context(), vmid)
			switch {
			case err != nil:
				return err
			case machine == nil:
				return refused(fmt.Errorf("there is no VM %d in this lab: `em-infra status --lab` lists those there are", vmid))
			case machine.Running:
				return refused(fmt.Errorf("VM %d is running - destroy failed: shut it down first", vmid))
			}
			if err := host.Delete(command.Context(), machine.Node, vmid); err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "VM %d is deleted\n", vmid)
			return err
		},
	}
	command.ValidArgsFunction = onlyFirst(flags.completeNodes)
	flags.bindPlace(command)
	return command
}
