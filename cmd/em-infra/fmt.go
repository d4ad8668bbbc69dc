package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newFormatCommand() *cobra.Command {
	var (
		flags   stackFlags
		options operator.FormatOptions
	)
	command := &cobra.Command{
		Use:   "fmt [--stack STACK | --inventory DIR]",
		Short: "Write inventories in their canonical form",
		Long: `Write the files of inventories (cluster.yaml and nodes.yaml, hosts.yaml, systems.yaml) in their canonical form: two spaces for each level,
and at most one blank line in a row. Keys, values and comments keep their text and their order. Without a flag, the inventories of all
stacks of the project are written. The name of each file that is changed is printed.

Exit codes: 0 the files have that form, 2 with --check: some do not, 3 a file is not YAML, and none was written.`,
		Example: "  em-infra fmt\n  em-infra fmt --check\n  em-infra fmt --inventory stacks/k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			folders, err := flags.inventories()
			if err != nil {
				return err
			}
			options.Folders = folders
			changed, err := operator.Format(options)
			if err != nil {
				return err
			}
			for _, file := range changed {
				fmt.Fprintln(streamsOf(command).out, file)
			}
			if options.Check && len(changed) > 0 {
				return operator.ErrChanges
			}
			return nil
		},
	}
	flags.bindPlace(command)
	command.Flags().BoolVar(&options.Check, "check", false, "write nothing; exit code 2 if a file has another form")
	return command
}

// inventories returns the folder of the inventory that the flags name; none without a flag.
func (f *stackFlags) inventories() ([]string, error) {
	switch {
	case f.stack != "" && f.inventory != "":
		return nil, refused(errors.New("--stack and --inventory: which of the two is meant? give one"))
	case f.inventory != "":
		return []string{f.inventory}, nil
	case f.stack == "":
		return nil, nil
	}
	place, err := f.workspace()
	if err != nil {
		return nil, err
	}
	return []string{workspace.Nearby(place.Inventory)}, nil
}
