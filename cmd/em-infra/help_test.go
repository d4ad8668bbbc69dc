package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/terminal"
)

// TestEveryCommandHasAnExample: and a description in one line.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var check func(command *cobra.Command)
	check = func(command *cobra.Command) {
		for _, child := range command.Commands() {
			check(child)
		}
		if command.HasSubCommands() || command.Hidden {
			return
		}
		require.NotEmpty(t, command.Short, command.CommandPath())
		require.Contains(t, command.Example, "em-infra ", command.CommandPath())
	}
	check(newRootCommand())
}

// TestHelpFits: what a command is for, and its flags, have 80 columns wherever they are shown. The list of commands is folded on a
// terminal, as everything is.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	var check func(command *cobra.Command)
	check = func(command *cobra.Command) {
		_, flags, _ := strings.Cut(command.UsageString(), "Flags:\n")
		flags, _, _ = strings.Cut(flags, "\nUse \"") // the hint for groups
		for line := range strings.Lines(command.Long + "\n" + flags) {
			require.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), terminal.Columns, "%s: %s", command.CommandPath(), line)
		}
		for _, child := range command.Commands() {
			check(child)
		}
	}
	check(newRootCommand())
}
