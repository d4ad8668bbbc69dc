package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

// report is the result of an operation that only reads.
type report interface {
	result
	// Err is the error that determines the exit code.
	Err() error
}

// runReport runs an operation that only reads, and prints its result in the requested format.
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
