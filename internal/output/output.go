// Package output contains the output formats of commands, and the flag that selects one.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
)

// The formats.
const (
	Text     = "text"
	JSON     = "json"
	Markdown = "markdown"
)

// formats returns those that every command has, and more ones of a command.
func formats(more []string) []string { return append([]string{Text, JSON}, more...) }

// list names formats in a sentence.
func list(formats []string) string {
	last := len(formats) - 1
	return strings.Join(formats[:last], ", ") + " or " + formats[last]
}

// Bind adds the flag --output, which completes to text, json and the formats that only this command has.
func Bind(command *cobra.Command, format *string, more ...string) {
	command.Flags().StringVar(format, "output", Text, list(formats(more)))
	choose := cobra.FixedCompletions(formats(more), cobra.ShellCompDirectiveNoFileComp)
	if err := command.RegisterFlagCompletionFunc("output", choose); err != nil {
		panic(err) // only for a flag that was not added
	}
}

// Check returns an error for a format that is neither text nor json, nor one that only this command has.
func Check(format string, more ...string) error {
	if known := formats(more); !slices.Contains(known, format) {
		return fmt.Errorf("--output: %q is no format: choose %s", format, list(known))
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
