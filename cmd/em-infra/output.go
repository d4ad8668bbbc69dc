package main

import (
	"io"

	"github.com/spf13/cobra"

	formats "github.com/em-infra/em-infra/internal/output"
)

// The formats besides text: for programs, and for comments on a forge.
const (
	outputJSON     = formats.JSON
	outputMarkdown = formats.Markdown
)

// bindOutput adds the flag for the format.
func bindOutput(command *cobra.Command, output *string, more ...string) {
	formats.Bind(command, output, more...)
}

// checkOutput refuses a format that does not exist.
func checkOutput(output string, more ...string) error {
	if err := formats.Check(output, more...); err != nil {
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
