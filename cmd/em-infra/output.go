package main

import (
	"io"

	"github.com/spf13/cobra"

	formats "github.com/em-infra/em-infra/internal/output"
)

// outputJSON is the format for programs.
const outputJSON = formats.JSON

// bindOutput adds the flag for the format.
func bindOutput(command *cobra.Command, output *string) { formats.Bind(command, output) }

// checkOutput refuses a format that does not exist.
func checkOutput(output string) error {
	if err := formats.Check(output); err != nil {
		return refused(err)
	}
	return nil
}

// result is the result of a command.
type result interface {
	// WriteText writes it as text.
	WriteText(out io.Writer) error
}

// writeResult writes a result in the requested format.
func writeResult(out io.Writer, output string, found result) error {
	if output == outputJSON {
		return writeJSON(out, found)
	}
	return found.WriteText(out)
}

// writeJSON writes a result as JSON.
func writeJSON(out io.Writer, value any) error { return formats.WriteJSON(out, value) }
