package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/workspace"
)

// completeFlag registers the completion of a flag that the command has.
func completeFlag(command *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // only for a flag that was not added, or was registered twice
	}
}

// oneOf completes a flag with fixed values.
func oneOf(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeStack completes the stacks whose inventory is in the project. Outside of a project it returns nothing.
func completeStack(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	here, err := os.Getwd()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	root, err := workspace.FindRoot(here)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	inventories := filepath.Join(root, "stacks")
	folders, err := os.ReadDir(inventories)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var stacks []cobra.Completion
	for _, folder := range folders { // sorted
		if manifest.IsInventory(filepath.Join(inventories, folder.Name())) {
			stacks = append(stacks, folder.Name())
		}
	}
	return stacks, cobra.ShellCompDirectiveNoFileComp
}
