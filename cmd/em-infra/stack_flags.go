package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
)

// stackFlags say which stack a command works on, and how.
type stackFlags struct {
	stack     string
	inventory string
	lab       bool
	yes       bool
	verbose   bool
	refresh   bool
}

// bindPlace adds the flags that say where.
func (f *stackFlags) bindPlace(command *cobra.Command) {
	command.Flags().StringVar(&f.stack, "stack", "", "the stack, e.g. k3s-dev")
	completeFlag(command, "stack", completeStack)
	command.Flags().StringVar(&f.inventory, "inventory", "", "the folder with cluster.yaml and nodes.yaml, instead of the stack's own")
}

// bindLab adds the choice between the real host and the emulated one.
func (f *stackFlags) bindLab(command *cobra.Command) {
	command.Flags().BoolVar(&f.lab, "lab", false, "rehearse on the emulated host; nothing real is touched")
}

// bindYes adds the consent of those who are not asked.
func (f *stackFlags) bindYes(command *cobra.Command) {
	command.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// bindVerbose adds the choice of the engine's own words.
func (f *stackFlags) bindVerbose(command *cobra.Command) {
	command.Flags().BoolVar(&f.verbose, "verbose", false, "show what the engine itself prints")
}

// bindRefresh adds the choice to take the state as it is.
func (f *stackFlags) bindRefresh(command *cobra.Command) {
	command.Flags().BoolVar(&f.refresh, "refresh", true, "ask the host first for what is there; with --refresh=false the state is taken as it is")
}

// place is the flags that say where, as they were typed.
func (f *stackFlags) place() string {
	place := "--stack " + f.stack
	if f.inventory != "" {
		place += " --inventory " + shellWord(f.inventory)
	}
	if f.lab {
		place += " --lab"
	}
	return place
}

var errNoStackNamed = errors.New("no stack is named: add --stack NAME, e.g. --stack k3s-dev")

// workspace locates the stack's workspace from the current folder.
func (f *stackFlags) workspace() (*workspace.Workspace, error) {
	if f.stack == "" {
		return nil, errNoStackNamed
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

// load locates the workspace and reads its inventory, with every problem in it at once.
func (f *stackFlags) load() (*workspace.Workspace, *inventory.Inventory, error) {
	w, err := f.workspace()
	if err != nil {
		return nil, nil, err
	}
	inv, err := inventory.Load(workspace.Nearby(w.Inventory))
	return w, inv, err
}
