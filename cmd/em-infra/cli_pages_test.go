package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
)

// cliPages is the folder of the pages that are generated from the commands, one page each.
const cliPages = "../../docs/cli"

// TestCLIPagesAreCurrent: docs/cli equals the output of cobra's generator. With -update it is rewritten.
func TestCLIPagesAreCurrent(t *testing.T) {
	t.Parallel()
	generated := t.TempDir()
	root := newRootCommand()
	root.InitDefaultCompletionCmd() // as it does when it is executed
	withoutDate(root)
	require.NoError(t, doc.GenMarkdownTree(root, generated))

	if golden.Update() {
		require.NoError(t, os.RemoveAll(cliPages))
		require.NoError(t, os.CopyFS(cliPages, os.DirFS(generated)))
	}
	expected := pagesIn(t, generated)
	require.Greater(t, len(expected), 40, "the commands are found")
	require.Equal(t, expected, pagesIn(t, cliPages), "make them anew: go test ./cmd/em-infra -run CLIPages -update")
}

// withoutDate removes the line with the date of a page, which would change it every day.
func withoutDate(command *cobra.Command) {
	command.DisableAutoGenTag = true
	for _, child := range command.Commands() {
		withoutDate(child)
	}
}

// pagesIn returns the texts of a folder by their file's name, with one newline at the end.
func pagesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		pages[entry.Name()] = strings.TrimRight(string(text), "\n") + "\n"
	}
	return pages
}
