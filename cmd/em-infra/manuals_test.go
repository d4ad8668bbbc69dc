package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestManuals: each command that people see has a manual page, which is the same each time, and each shell its completions.
func TestManuals(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1763676900")
	dir, again := t.TempDir(), t.TempDir()
	for _, folder := range []string{dir, again} {
		require.Equal(t, outcome{}, em(t.Context(), "manuals", folder))
	}
	root := newRootCommand()
	root.InitDefaultCompletionCmd()
	pages := pagesIn(t, filepath.Join(dir, "man"))
	require.Equal(t, pages, pagesIn(t, filepath.Join(again, "man")))
	require.Contains(t, pages["em-infra.1"], `.TH "EM-INFRA" "1" "Nov 2025" "em-infra" "Commands"`)
	require.Contains(t, pages["em-infra-etcd-restore.1"], "em-infra etcd restore")
	require.NotContains(t, pages, "em-infra-manuals.1")
	require.Len(t, pages, seen(root))

	for file, contains := range map[string]string{
		"em-infra.bash": "complete -o default -F __start_em-infra em-infra", "_em-infra": "#compdef em-infra", "em-infra.fish": "complete -c em-infra", "em-infra.ps1": "Register-ArgumentCompleter",
	} {
		text, err := os.ReadFile(filepath.Join(dir, "completions", file))
		require.NoError(t, err)
		require.Contains(t, string(text), contains)
	}
}

// seen returns the number of commands that are not hidden.
func seen(command *cobra.Command) int {
	count := 1
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() && !child.IsAdditionalHelpTopicCommand() {
			count += seen(child)
		}
	}
	return count
}
