package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

func newContainerCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "container",
		Short: "Operations on a container, called by the program's Commands",
	}
	command.AddCommand(newContainerGrowCommand())
	return whileCallerReads(command)
}

func newContainerGrowCommand() *cobra.Command {
	const short = "Grow the root of a container to a size in GiB, while it runs"
	return &cobra.Command{
		Use:     "grow HOST VMID GIB",
		Short:   short,
		Long:    fmt.Sprintf("%s. It cannot shrink. Proxmox VE is reached as %s, %s and %s say.", short, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra container grow vmhost 200 16",
		Args:    cobra.ExactArgs(3),
		RunE: func(command *cobra.Command, args []string) error {
			connection, err := connectionFromEnvironment()
			if err != nil {
				return refused(err)
			}
			var numbers [2]int
			for i, text := range args[1:] {
				if numbers[i], err = strconv.Atoi(text); err != nil {
					return refused(fmt.Errorf("%q is no number: give VMID and size in GiB", text))
				}
			}
			guest := pve.Guest{Node: args[0], Type: pve.TypeContainer, VMID: numbers[0]}
			grown, err := connection.GrowRoot(command.Context(), guest, numbers[1])
			if err != nil {
				return err
			}
			outcome := "has that size"
			if grown {
				outcome = "grown"
			}
			fmt.Fprintf(command.OutOrStdout(), "root of CT %d: %s\n", guest.VMID, outcome)
			return nil
		},
	}
}
