package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

// preflightFlags are the flags of preflight.
type preflightFlags struct {
	place  stackFlags
	output string
}

func newPreflightCommand() *cobra.Command {
	var flags preflightFlags
	command := &cobra.Command{
		Use:   "preflight --stack STACK",
		Short: "Check whether the host can run what the inventory describes",
		Long: `Ask Proxmox VE and the Image Factory whether a run could succeed: privileges, storages, bridges, VMIDs, addresses,
memory, PCI devices. With storage in the inventory, TrueNAS is asked too: key, roles, pool, datasets. Nothing is changed there.
For each GPU that no node uses, the line for nodes.yaml is shown. If the state is in a bucket, a small object is stored, read,
copied, listed and deleted there. up runs the same checks first.

Exit codes: 0 no failures (there may be warnings), 3 failures.`,
		Example: "  em-infra preflight --stack k3s-dev\n  em-infra preflight --stack k3s-dev --lab\n  em-infra preflight --stack k3s-dev --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	bindOutput(command, &flags.output)
	return command
}

func (f *preflightFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	o, err := f.place.open(streams.aside())
	if err != nil {
		return err
	}
	checks, err := o.Preflight(ctx)
	if err != nil {
		return err
	}
	if f.output == outputJSON {
		err = preflightJSON(streams.out, checks)
	} else {
		printPreflight(streams.out, checks)
	}
	if err == nil && checks.Count(operator.CheckFailure) > 0 {
		err = errUnsound
	}
	return err
}

func printPreflight(out io.Writer, checks operator.Checks) {
	checks.At(here()).WriteText(out)
	fmt.Fprintf(out, "%s. Nothing was touched\n", checks.Summary())
}

// preflightReport is the JSON form of a report.
type preflightReport struct {
	// Checks are all checks in their order.
	Checks operator.Checks `json:"checks"`
	// OK is the number of passed checks.
	OK int `json:"ok"`
	// Warnings is the number of warnings.
	Warnings int `json:"warnings"`
	// Failures is the number of failures, which prevent a run.
	Failures int `json:"failures"`
}

func preflightJSON(out io.Writer, checks operator.Checks) error {
	return writeJSON(out, preflightReport{
		Checks: checks.At(here()), OK: checks.Count(operator.CheckOK), Warnings: checks.Count(operator.CheckWarning), Failures: checks.Count(operator.CheckFailure),
	})
}
