package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
)

// Formats of what a command prints as its result.
const (
	outputText = "text"
	outputJSON = "json"
)

// bindOutput adds the choice of the format.
func bindOutput(command *cobra.Command, output *string) {
	command.Flags().StringVar(output, "output", outputText, "text or json")
	completeFlag(command, "output", oneOf(outputText, outputJSON))
}

var errOutput = errors.New("is no format: choose text or json")

// checkOutput refuses a format that there is not.
func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return refused(fmt.Errorf("--output: %q %w", output, errOutput))
	}
	return nil
}

// result is what a command found out.
type result interface {
	// Print writes it for a person.
	Print(out io.Writer) error
}

// writeResult writes a result in the format that was asked for.
func writeResult(out io.Writer, output string, found result) error {
	if output == outputJSON {
		return writeJSON(out, found)
	}
	return found.Print(out)
}

// writeJSON writes a result for a program.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(terminal.Raw(out))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
