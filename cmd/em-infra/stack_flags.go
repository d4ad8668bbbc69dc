package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// stackFlags select the stack of a command and how to run on it.
type stackFlags struct {
	stack     string
	inventory string
	lab       bool
	yes       bool
	verbose   bool
	refresh   bool
	keep      int
	wait      time.Duration
}

// bindPlace adds the flags that select the stack. A command without arguments of its own accepts the stack as its argument.
func (f *stackFlags) bindPlace(command *cobra.Command) {
	about := "the stack, e.g. k3s-dev"
	if command.Args == nil {
		command.Args, command.ValidArgsFunction = f.takeStack, f.completeArgument
		about += "; the word --stack may be left out"
	}
	command.Flags().StringVar(&f.stack, "stack", "", about)
	completeFlag(command, "stack", completeStack)
	command.Flags().StringVar(&f.inventory, "inventory", "", "the folder with the inventory, such as cluster.yaml and nodes.yaml, instead of the stack's own")
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

// bindYes adds the flag that answers questions with yes.
func (f *stackFlags) bindYes(command *cobra.Command) {
	command.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// bindKeep adds the flag for how many artifacts and backups are kept.
func (f *stackFlags) bindKeep(command *cobra.Command) {
	about := fmt.Sprintf("how many artifacts of each command, and backups of each kind, are kept; the oldest are deleted (default %d)", operator.DefaultKeep)
	command.Flags().Func("keep", about, func(text string) error {
		keep, err := strconv.Atoi(text)
		if err != nil || keep < 1 {
			return errors.New("give how many to keep, 1 or more")
		}
		f.keep = keep
		return nil
	})
}

// bindWait adds the flag that waits for another run.
func (f *stackFlags) bindWait(command *cobra.Command) {
	const about = "wait so long for another run on this stack to end, e.g. 30m (default: it is refused at once)"
	command.Flags().Func("wait", about, func(text string) error {
		wait, err := time.ParseDuration(text)
		if err != nil || wait <= 0 {
			return errors.New("give a duration, such as 90s or 30m")
		}
		f.wait = wait
		return nil
	})
}

// bindVerbose adds the flag that prints the engine's own output.
func (f *stackFlags) bindVerbose(command *cobra.Command) {
	command.Flags().BoolVar(&f.verbose, "verbose", false, "show what the engine itself prints")
}

// bindRefresh adds the flag that skips the refresh.
func (f *stackFlags) bindRefresh(command *cobra.Command) {
	command.Flags().BoolVar(&f.refresh, "refresh", true, "read the host first and update the state; --refresh=false uses the state as it is")
}

// open opens the stack for an operation that prints its progress.
func (f *stackFlags) open(s streams) (*operator.Operator, error) {
	return f.openChosen(s, lab.Choices{})
}

// errNoRehearsal means that a flag of the lab is given without --lab.
var errNoRehearsal = errors.New("--time-scale, --pve and --seed are those of the emulated host: add --lab to rehearse, or leave them out")

// openChosen opens the stack with settings for the lab.
func (f *stackFlags) openChosen(s streams, choices lab.Choices) (*operator.Operator, error) {
	options, err := f.options(s, choices)
	if err != nil {
		return nil, err
	}
	o, err := operator.Open(options)
	if err != nil {
		return nil, err
	}
	return o, o.CompleteEnvironment(os.Setenv)
}

// options returns how the stack is opened.
func (f *stackFlags) options(s streams, choices lab.Choices) (operator.Options, error) {
	options := operator.Options{
		Stack: f.stack, Inventory: f.inventory, Yes: f.yes, Keep: f.keep, Wait: f.wait, ToolsProgress: s.out, Events: printer{streams: s, verbose: f.verbose},
	}
	if isTerminal(s.in) {
		options.Person = person{s}
	}
	if tool, err := os.Executable(); err == nil {
		options.Tool = tool // the program's Commands call this executable
	}
	if f.lab {
		options.Lab = localLab(choices, s.out)
	} else if choices != (lab.Choices{}) {
		return operator.Options{}, refused(errNoRehearsal)
	}
	return options, nil
}

// localLab starts labs with this executable, even when `go run` removes its file.
func localLab(choices lab.Choices, progress io.Writer) lab.Local {
	return lab.Local{Tool: "/proc/self/exe", Choices: choices, Progress: progress}
}

// workspace returns the stack's workspace, found from the current folder.
func (f *stackFlags) workspace() (*workspace.Workspace, error) {
	o, err := f.open(streams{})
	if err != nil {
		return nil, err
	}
	w := o.Workspace()
	return &w, nil
}

// load locates the workspace and reads its inventory, with every problem in it at once.
func (f *stackFlags) load() (*workspace.Workspace, *inventory.Inventory, error) {
	o, err := f.open(streams{})
	if err != nil {
		return nil, nil, err
	}
	w := o.Workspace()
	inv, err := o.Inventory()
	return &w, inv, err
}
