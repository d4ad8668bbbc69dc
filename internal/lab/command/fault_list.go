package command

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/output"
	"github.com/em-infra/em-infra/internal/terminal"
)

// FaultList is the output of `fault list`.
type FaultList struct {
	// Kinds are all kinds of faults.
	Kinds []fault.Kind `json:"kinds"`
	// Set are the faults that are set.
	Set []fault.State `json:"set"`
}

func faultListCommand(place Place) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "list" + place.Words().Usage,
		Short: "List the failures that can be set, and those that are",
		Long: `List the failures that can be set, and those that are set now. Where a failure is known from: the page
docs/failures.md, or the source of Proxmox VE or Talos that has it. Faults end with the lab's process.`,
		Example: place.Words().example("fault list") + "\n" + place.Words().example("fault list") + " --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(format); err != nil {
				return err
			}
			dir, err := place.Dir()
			if err != nil {
				return Refused(err)
			}
			list := FaultList{Kinds: kindsForUsers()}
			if list.Set, err = Faults(command.Context(), dir); err != nil {
				return err
			}
			if format == output.JSON {
				return output.WriteJSON(command.OutOrStdout(), list)
			}
			return list.write(command.OutOrStdout(), next(place, "fault set NAME"))
		},
	}
	place.Bind(command)
	output.Bind(command, &format)
	return command
}

func kindsForUsers() []fault.Kind {
	var kinds []fault.Kind
	for _, kind := range lab.FaultKinds() {
		kinds = append(kinds, kind.ForUsers())
	}
	return kinds
}

// Faults returns the faults that are set in the lab of a folder; none if it does not run.
func Faults(ctx context.Context, dir string) ([]fault.State, error) {
	pid, err := lab.Running(dir)
	if err != nil || pid == 0 {
		return []fault.State{}, err
	}
	return control.NewClient(dir).Faults(ctx)
}

func (l FaultList) write(out io.Writer, next string) error {
	kinds := terminal.Table{Header: []string{"NAME", "WHAT HAPPENS", "KNOWN FROM"}}
	for _, kind := range l.Kinds {
		kinds.Rows = append(kinds.Rows, []string{kind.Name, kind.About, kind.Source})
	}
	if err := kinds.Write(out); err != nil {
		return err
	}
	if len(l.Set) == 0 {
		_, err := fmt.Fprintf(out, "\nnone is set · next: %s\n", next)
		return err
	}
	fmt.Fprint(out, "\n")
	set := terminal.Table{Header: []string{"SET", "WHERE", "WHEN", "MET", "OCCURRED"}}
	for _, f := range l.Set {
		set.Rows = append(set.Rows, []string{f.Name, where(f.Fault), when(f.Fault), strconv.Itoa(f.Seen), strconv.Itoa(f.Occurred)})
	}
	return set.Write(out)
}
