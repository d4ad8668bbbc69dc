package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
)

// stackFlags say which stack a command works on.
type stackFlags struct {
	stack     string
	inventory string
	lab       bool
	yes       bool
}

func (f *stackFlags) bind(command *cobra.Command) {
	command.Flags().StringVar(&f.stack, "stack", "", "the stack, e.g. k3s-dev")
	command.Flags().StringVar(&f.inventory, "inventory", "", "the folder with cluster.yaml and nodes.yaml, instead of the stack's own")
	command.Flags().BoolVar(&f.lab, "lab", false, "rehearse on the emulated host; nothing real is touched")
}

func (f *stackFlags) bindYes(command *cobra.Command) {
	command.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// workspace locates the stack's workspace from the current folder.
func (f *stackFlags) workspace() (*workspace.Workspace, error) {
	if f.stack == "" {
		return nil, errors.New("no stack named: add --stack, e.g. --stack k3s-dev")
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	root, err := workspace.FindRoot(here)
	if err != nil {
		return nil, err
	}
	if f.lab {
		return workspace.Rehearsal(root, f.stack, f.inventory)
	}
	return workspace.Real(root, f.stack, f.inventory)
}
