package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/workspace"
)

// faultList is what there is to say of faults.
type faultList struct {
	// Kinds are all faults that there are.
	Kinds []fault.Kind `json:"kinds"`
	// Set are those that were asked for.
	Set []fault.State `json:"set"`
}

func newLabFaultListCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var output string
	command := &cobra.Command{
		Use:   "list --stack STACK",
		Short: "List the failures that can be set, and those that are",
		Long: `List the failures that can be set, and those that are set now. Where a failure is known from: a number of
docs/failures.md, or the source of Proxmox VE or Talos that has it. Faults end with the lab's process.`,
		Example: "  em-infra lab fault list --stack k3s-dev\n  em-infra lab fault list --stack k3s-dev --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			list := faultList{Kinds: lab.FaultKinds()}
			if list.Set, err = faultsOf(command.Context(), w); err != nil {
				return err
			}
			if output == outputJSON {
				return writeJSON(command.OutOrStdout(), list)
			}
			return list.write(command.OutOrStdout(), flags.stack)
		},
	}
	flags.bindPlace(command)
	bindOutput(command, &output)
	return command
}

// faultsOf are those that are set; a lab that does not run has none.
func faultsOf(ctx context.Context, w *workspace.Workspace) ([]fault.State, error) {
	pid, err := lab.Running(w.Dir)
	if err != nil || pid == 0 {
		return []fault.State{}, err
	}
	return control.NewClient(w.Dir).Faults(ctx)
}

func (l faultList) write(out io.Writer, stack string) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tWHAT HAPPENS\tKNOWN FROM")
	for _, kind := range l.Kinds {
		fmt.Fprintf(table, "%s\t%s\t%s\n", kind.Name, kind.About, kind.Origin())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(l.Set) == 0 {
		_, err := fmt.Fprintf(out, "\nnone is set · next: %s\n", typed("lab fault set NAME --stack %s", stack))
		return err
	}
	fmt.Fprint(out, "\n")
	fmt.Fprintln(table, "SET\tWHERE\tWHEN\tMET\tSTRUCK")
	for _, f := range l.Set {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", f.Name, where(f.Fault), when(f.Fault), f.Seen, f.Struck)
	}
	return table.Flush()
}
