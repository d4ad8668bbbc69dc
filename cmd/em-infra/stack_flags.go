package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/retention"
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
	keep      int
}

// bindPlace adds the flags that say where. A command that takes no arguments of its own takes the stack as one.
func (f *stackFlags) bindPlace(command *cobra.Command) {
	about := "the stack, e.g. k3s-dev"
	if command.Args == nil {
		command.Args, command.ValidArgsFunction = f.takeStack, f.completeArgument
		about += "; the word --stack may be left out"
	}
	command.Flags().StringVar(&f.stack, "stack", "", about)
	completeFlag(command, "stack", completeStack)
	command.Flags().StringVar(&f.inventory, "inventory", "", "the folder with cluster.yaml and nodes.yaml, instead of the stack's own")
}

// takeStack is [cobra.PositionalArgs]: the one argument is the name of the stack.
func (f *stackFlags) takeStack(command *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
	case f.stack != "":
		return refused(fmt.Errorf("%q is one word too many, for --stack %s names the stack already: leave one of the two out", args[0], f.stack))
	case len(args) > 1:
		return refused(fmt.Errorf("%q is one word too many: name one stack, as in `%s --stack %s`", args[1], command.CommandPath(), args[0]))
	default:
		f.stack = args[0]
	}
	return nil
}

// bindLab adds the choice between the real host and the emulated one.
func (f *stackFlags) bindLab(command *cobra.Command) {
	command.Flags().BoolVar(&f.lab, "lab", false, "rehearse on the emulated host; nothing real is touched")
}

// bindYes adds the consent of those who are not asked.
func (f *stackFlags) bindYes(command *cobra.Command) {
	command.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// bindKeep adds the choice of how much of what runs leave behind stays.
func (f *stackFlags) bindKeep(command *cobra.Command) {
	about := fmt.Sprintf("how many artifacts of each command, and backups of each kind, stay, the oldest going first (default %d)", retention.Default)
	command.Flags().Func("keep", about, func(text string) error {
		keep, err := strconv.Atoi(text)
		if err != nil || keep < 1 {
			return errors.New("give how many are to stay, 1 or more")
		}
		f.keep = keep
		return nil
	})
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
