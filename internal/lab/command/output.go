package command

import (
	"encoding/json"
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
	choose := cobra.FixedCompletions([]string{outputText, outputJSON}, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("output", choose); err != nil {
		panic(err) // the flag stands in the line before
	}
}

// checkOutput refuses a format that there is not.
func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return Refused(fmt.Errorf("--output: %q is no format: choose text or json", output))
	}
	return nil
}

// writeJSON writes a result for a program.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(terminal.Raw(out))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
