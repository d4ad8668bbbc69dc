// Package operator brings the clusters of stacks up, changes, checks and destroys them, with everything that makes that safe: the
// host is asked before anything is touched, the state is backed up, what a killed run left behind is settled, what is going to
// happen is judged and agreed to, and the result is verified.
//
// An [Operator] works on one stack. [Open] finds the stack; each method is one operation from its first check to its end. What
// happens on the way is told to [Options.Events]; what was found is the result. The errors are [RefusedError], for an operation
// that touched nothing, [FailedError], for one whose engine failed, and others.
//
// The command line em-infra is flags and printing around this package; docs/embedding.md shows another program.
package operator

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Options say which stack an Operator works on, and with what.
type Options struct {
	// Stack is the name of the stack. Required.
	Stack string
	// Project is a folder of the project. Default: the current folder.
	Project string
	// Inventory is the folder with cluster.yaml and nodes.yaml. A relative one starts at the current folder. Default: the one
	// that the stack's configuration names.
	Inventory string
	// Lab is the emulated host of a rehearsal. Default: nil, the real host.
	Lab Lab
	// Yes is the consent to what the operations do, given beforehand.
	Yes bool
	// Person is asked for it otherwise. Default: nil, nobody, so that operations that need consent are refused.
	Person Person
	// Events is told what happens. Default: nil, nobody.
	Events Events
	// ToolsProgress is written to while tools are downloaded or built; on a terminal one line is rewritten. Default: nothing is
	// written.
	ToolsProgress io.Writer
	// Tool is the executable of em-infra. The program's Commands call it, and it guards the engine's plugins against the death of
	// this process. Default: the Commands take what EM_INFRA names, or compile it; and plugins that a killed process leaves
	// behind are ended by the next operation.
	Tool string
	// Keep is how many artifacts of each operation, and backups of each kind, stay, the oldest going first. Default: 0, for
	// [DefaultKeep].
	Keep int
	// Clock is the time. Default: nil, the system's.
	Clock Clock
}

// Operator works on one stack. Its operations are done one after the other.
type Operator struct {
	options   Options
	workspace *workspace.Workspace
	events    *serialEvents
	clock     Clock
}

var errNoStackNamed = errors.New("no stack is named: add --stack NAME, e.g. --stack k3s-dev")

// Open finds the stack's place on this machine. It starts nothing, reads no inventory and waits for nothing. A [RefusedError]
// says that there is no project, or no such name.
func Open(options Options) (*Operator, error) {
	w, err := locate(options)
	if err != nil {
		return nil, refused(err)
	}
	clock := options.Clock
	if clock == nil {
		clock = systemClock{}
	}
	return &Operator{options: options, workspace: w, events: &serialEvents{to: options.Events}, clock: clock}, nil
}

func locate(options Options) (*workspace.Workspace, error) {
	if options.Stack == "" {
		return nil, errNoStackNamed
	}
	here, err := filepath.Abs(options.Project)
	if err != nil {
		return nil, fmt.Errorf("current folder: %w", err)
	}
	root, err := workspace.FindRoot(here)
	if err != nil {
		return nil, err
	}
	if options.Lab != nil {
		return workspace.Rehearsal(root, options.Stack, options.Inventory)
	}
	return workspace.Real(root, options.Stack, options.Inventory)
}

// Place is the flags that lead a command of em-infra to this stack.
func (o *Operator) Place() string {
	place := "--stack " + o.workspace.Stack
	if o.options.Inventory != "" {
		place += " --inventory " + shell.Word(o.options.Inventory)
	}
	if o.workspace.Rehearsed {
		place += " --lab"
	}
	return place
}

// remedies is where the commands that messages name are typed.
func (o *Operator) remedies() remedy.Place {
	place := remedy.Place{Name: o.workspace.Stack, Stack: o.Place()}
	if o.workspace.Rehearsed {
		place.Lab = strings.TrimSuffix(place.Stack, " --lab")
	}
	return place
}

// Workspace is where the files of the stack lie.
func (o *Operator) Workspace() Workspace { return *o.workspace }

// Workspace is where the files of a stack lie on this machine.
type Workspace = workspace.Workspace

// Inventory loads the stack's inventory, with every problem of it at once.
func (o *Operator) Inventory() (*inventory.Inventory, error) {
	return inventory.Load(workspace.Nearby(o.workspace.Inventory))
}

func (o *Operator) emit(event Event) { o.events.Handle(event) }

// site is where the lab of a rehearsal is.
func (o *Operator) site() Site { return siteOf(o.workspace) }

// Clock tells the time and waits.
type Clock interface {
	// Now is the time.
	Now() time.Time
	// After is a channel that gets the time after a while.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// ToolVariable is the environment variable that tells the program's Commands which em-infra to call.
const ToolVariable = "EM_INFRA"
