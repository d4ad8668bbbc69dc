package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/lab/fault"
)

func newLabFaultSetCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var asked fault.Fault
	var vm string
	command := &cobra.Command{
		Use:   "set NAME --stack STACK",
		Short: "Have a failure happen from now on",
		Long: `Have a failure happen from now on, on every occasion unless flags narrow it. It lasts until it is cleared, or until the
lab stops. Which occasions a probability takes is decided by the lab's --seed: the same seed and the same order of
occasions give the same failures.`,
		Example: `  em-infra lab fault set clone-fails --stack k3s-dev --vm k3s-dev-worker-1 --times 1
  em-infra lab fault set bootstrap-answer-lost --stack k3s-dev --nth 1
  em-infra lab fault set forbidden --stack k3s-dev --endpoint '/nodes/{node}/qemu/{vmid}/config' --probability 0.1`,
		Args: oneName("fault"),
		RunE: func(command *cobra.Command, args []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			asked.Name = args[0]
			if asked.VMID, err = vmidOf(vm, inv); err != nil {
				return refused(err)
			}
			console, err := consoleOf(w)
			if err != nil {
				return err
			}
			if err := console.SetFault(command.Context(), asked); err != nil {
				return byLab(err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s is set: %s, %s · next: %s\n",
				asked.Name, where(asked), when(asked), typed("lab fault clear %s --stack %s", asked.Name, flags.stack))
			return err
		},
	}
	command.ValidArgsFunction = onlyFirst(completeFaultKinds)
	flags.bindPlace(command)
	command.Flags().StringVar(&asked.Node, "node", "", "only on this `host`")
	command.Flags().StringVar(&vm, "vm", "", "only for this VM: a node's `name`, or a VMID")
	command.Flags().StringVar(&asked.Endpoint, "endpoint", "", "only at this method: a `path` of Proxmox VE such as /nodes/{node}/qemu, or a method of Talos such as /machine.MachineService/Bootstrap")
	command.Flags().IntVar(&asked.Nth, "nth", 0, "only on the `n`-th occasion; with --times or --probability, from that one on")
	command.Flags().IntVar(&asked.Times, "times", 0, "only `n` times (default: without end)")
	command.Flags().Float64Var(&asked.Probability, "probability", 0, "only this `share` of the occasions, above 0 and up to 1 (default: all)")
	completeFlag(command, "node", flags.completeHosts)
	completeFlag(command, "vm", flags.completeNodes)
	return command
}

func newLabFaultClearCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:   "clear [NAME] --stack STACK",
		Short: "Take a failure back, or all of them",
		Long: `Take a failure back, or all of them. What has struck stays struck: a node that hangs goes on when it is switched off and
on, and a VM's lock goes with "em-infra lab unlock".`,
		Example: "  em-infra lab fault clear clone-fails --stack k3s-dev\n  em-infra lab fault clear --stack k3s-dev",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			console, err := consoleOf(w)
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
	command.ValidArgsFunction = onlyFirst(flags.completeSetFaults)
	flags.bindPlace(command)
	return command
}

// vmidOf is the number of a VM by the name of a node, or by itself; 0 for "".
func vmidOf(vm string, inv *inventory.Inventory) (int, error) {
	if vm == "" {
		return 0, nil
	}
	if vmid, err := strconv.Atoi(vm); err == nil && vmid > 0 {
		return vmid, nil
	}
	names := make([]string, len(inv.Nodes))
	for i, node := range inv.Nodes {
		if node.Name == vm {
			return node.VMID, nil
		}
		names[i] = node.Name
	}
	do := "choose one of its nodes, or a VMID"
	if near := strictyaml.Nearest(vm, names); near != "" {
		do = "did you mean " + near + "?"
	}
	return 0, fmt.Errorf("the inventory has no node %q: %s", vm, do)
}

// where says what a fault is narrowed to.
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

// when says on which occasions a fault strikes.
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

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
