// Package output contains the output formats of commands, and the flag that selects one.
package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
)

// The formats.
const (
	Text = "text"
	JSON = "json"
)

// Bind adds the flag --output, which completes to the formats.
func Bind(command *cobra.Command, format *string) {
	command.Flags().StringVar(format, "output", Text, "text or json")
	choose := cobra.FixedCompletions([]string{Text, JSON}, cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("output", choose); err != nil {
		panic(err) // only for a flag that was not added
	}
}

// Check returns an error for a format that does not exist.
func Check(format string) error {
	if format != Text && format != JSON {
		return fmt.Errorf("--output: %q is no format: choose text or json", format)
	}
	return nil
}

// WriteJSON writes a result as JSON.
func WriteJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(terminal.Raw(out))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
