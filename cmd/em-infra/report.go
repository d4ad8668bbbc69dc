package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

// report is what an operation that only reads has found out.
type report interface {
	result
	// Err is what the exit code tells.
	Err() error
}

// runReport runs an operation that only reads, and prints what it has found in the format that was asked for.
func runReport[R report](command *cobra.Command, flags stackFlags, output string, operate func(*operator.Operator, context.Context) (R, error)) error {
	if err := checkOutput(output); err != nil {
		return err
	}
	streams := streamsOf(command)
	o, err := flags.open(streams.aside())
	if err != nil {
		return err
	}
	found, err := operate(o, command.Context())
	if err != nil {
		return err
	}
	if err := writeResult(streams.out, output, found); err != nil {
		return err
	}
	return found.Err()
}
