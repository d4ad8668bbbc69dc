package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Formats of what a command prints as its result.
const (
	outputText = "text"
	outputJSON = "json"
)

// bindOutput adds the choice of the format.
func bindOutput(command *cobra.Command, output *string) {
	command.Flags().StringVar(output, "output", outputText, "text or json")
}

var errOutput = errors.New("is no format: choose text or json")

// checkOutput refuses a format that there is not.
func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return refused(fmt.Errorf("--output: %q %w", output, errOutput))
	}
	return nil
}

// writeJSON writes a result for a program.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
