package command

import "github.com/spf13/cobra"

// Fault returns the commands for faults. Each command gets its own place.
func Fault(place func() Place) *cobra.Command {
	command := &cobra.Command{
		Use:   "fault",
		Short: "Failures of the emulated host and its nodes, on request",
	}
	command.AddCommand(faultListCommand(place()), faultSetCommand(place()), faultClearCommand(place()))
	return command
}
