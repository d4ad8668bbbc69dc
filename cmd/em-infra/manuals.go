package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManualsCommand writes what an archive of a release contains beside the program. It is hidden, since it is for packagers.
func newManualsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "manuals FOLDER",
		Short:  "Write the manual pages and the completions of all shells",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return writeManuals(command.Root(), args[0])
		},
	}
}

// completionFiles are the files of the completions by their shell, named as each shell looks for them.
var completionFiles = map[string]func(root *cobra.Command, file string) error{
	"em-infra.bash": func(root *cobra.Command, file string) error { return root.GenBashCompletionFileV2(file, true) },
	"_em-infra":     (*cobra.Command).GenZshCompletionFile,
	"em-infra.fish": func(root *cobra.Command, file string) error { return root.GenFishCompletionFile(file, true) },
	"em-infra.ps1":  (*cobra.Command).GenPowerShellCompletionFileWithDesc,
}

func writeManuals(root *cobra.Command, dir string) error {
	pages, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, folder := range []string{pages, completions} {
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // packed into an archive
			return err
		}
	}
	root.DisableAutoGenTag = true // children inherit it; the date is in the header
	// The date is that of SOURCE_DATE_EPOCH if it is set, for builds that are the same each time.
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: toolName, Manual: "Commands"}, pages); err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	for file, write := range completionFiles {
		if err := write(root, filepath.Join(completions, file)); err != nil {
			return fmt.Errorf("completions: %w", err)
		}
	}
	return nil
}
