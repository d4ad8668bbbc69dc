package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestEveryCommandHasAnExample, and says in a line what it is for.
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
