package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newExampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "example [FOLDER]",
		Short: "Write a project with sample stacks, to look at them or to rehearse them",
		Long: `Write a project into a folder, by default the current one: Pulumi.yaml, inventories and configurations of the sample stacks, two of
clusters, one of hosts and one of systems, the schemas that editors check an inventory with, and what git ignores. A file
that exists is never changed. For a host of your own, em-infra init writes a project with an inventory that fits it.`,
		Example: "  em-infra example cluster",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := operator.WriteExample(dir); err != nil {
				return err
			}
			_, err := fmt.Fprintf(command.OutOrStdout(), "written: %s\nnext: change the addresses and names in %s, then em-infra validate --stack k3s-dev\n",
				workspace.Nearby(dir), workspace.Nearby(filepath.Join(dir, "stacks", "k3s-dev")))
			return err
		},
	}
}
