package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
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
	inventories, err := filepath.Glob(filepath.Join(root, "stacks", "*", inventory.ClusterFile))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var stacks []cobra.Completion
	for _, file := range inventories {
		stacks = append(stacks, filepath.Base(filepath.Dir(file)))
	}
	slices.Sort(stacks)
	return stacks, cobra.ShellCompDirectiveNoFileComp
}
