package command

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

func faultSetCommand(place Place) *cobra.Command {
	var asked fault.Fault
	var which string
	command := &cobra.Command{
		Use:   "set NAME" + place.Words().Usage,
		Short: "Have a failure happen from now on",
		Long: `Have a failure happen from now on, on every occasion unless flags narrow it. It lasts until it is cleared, or until the
lab stops. Which occasions a probability takes is decided by the lab's --seed: the same seed and the same order of
occasions give the same failures.`,
		Example: place.Words().example("fault set clone-fails") + " --vm " + cmp.Or(place.Words().VM, "102") + " --times 1\n" +
			place.Words().example("fault set bootstrap-answer-lost") + " --nth 1\n" +
			place.Words().example("fault set forbidden") + " --endpoint '/nodes/{node}/qemu/{vmid}/config' --probability 0.1",
		Args: OneName("fault"),
		RunE: func(command *cobra.Command, args []string) error {
			var err error
			asked.Name = args[0]
			if asked.VMID, err = place.VMID(which); err != nil {
				return Refused(err)
			}
			console, err := console(place)
			if err != nil {
				return err
			}
			if err := console.SetFault(command.Context(), asked); err != nil {
				return byLab(err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s is set: %s, %s · next: %s\n",
				asked.Name, where(asked), when(asked), next(place, "fault clear "+asked.Name))
			return err
		},
	}
	command.Flags().StringVar(&asked.Node, "node", "", "only on this `host`")
	command.Flags().StringVar(&which, "vm", "", place.Words().AboutVM)
	command.Flags().StringVar(&asked.Endpoint, "endpoint", "", "only at this method: a `path` of Proxmox VE such as /nodes/{node}/qemu, or a method of Talos such as /machine.MachineService/Bootstrap")
	command.Flags().IntVar(&asked.Nth, "nth", 0, "only on the `n`-th occasion; with --times or --probability, from that one on")
	command.Flags().IntVar(&asked.Times, "times", 0, "only `n` times (default: without end)")
	command.Flags().Float64Var(&asked.Probability, "probability", 0, "only this `share` of the occasions, above 0 and up to 1 (default: all)")
	place.Bind(command)
	return command
}

func faultClearCommand(place Place) *cobra.Command {
	command := &cobra.Command{
		Use:   "clear [NAME]" + place.Words().Usage,
		Short: "Take a failure back, or all of them",
		Long: `Take a failure back, or all of them. What has occurred stays so: a node that hangs goes on when it is switched off and
on, and a VM's lock goes with "` + place.Words().Program + ` unlock".`,
		Example: place.Words().example("fault clear clone-fails") + "\n" + place.Words().example("fault clear"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			console, err := console(place)
			if err != nil {
				return err
			}
			count, err := console.ClearFaults(command.Context(), strings.Join(args, ""))
			if err != nil {
				return byLab(err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s taken back\n", counted(count, "fault"))
			return err
		},
	}
	place.Bind(command)
	return command
}

// where returns what a fault is limited to.
func where(f fault.Fault) string {
	var parts []string
	if f.Node != "" {
		parts = append(parts, "host "+f.Node)
	}
	if f.VMID != 0 {
		parts = append(parts, "VM "+strconv.Itoa(f.VMID))
	}
	if f.Endpoint != "" {
		parts = append(parts, f.Endpoint)
	}
	if len(parts) == 0 {
		return "everywhere"
	}
	return strings.Join(parts, ", ")
}

// when returns on which occasions a fault occurs.
func when(f fault.Fault) string {
	var parts []string
	if f.Nth > 0 {
		parts = append(parts, fmt.Sprintf("from occasion %d", f.Nth))
	}
	if f.Probability > 0 {
		parts = append(parts, fmt.Sprintf("%g %% of the time", f.Probability*100))
	}
	if f.Times > 0 {
		parts = append(parts, counted(f.Times, "time"))
	}
	if len(parts) == 0 {
		return "always"
	}
	return strings.Join(parts, ", ")
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
