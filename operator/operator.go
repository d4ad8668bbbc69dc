// Package operator brings up, changes, checks and destroys the clusters of stacks. It makes these operations safe: it checks the
// host before it changes anything, backs up the state, cleans up after killed runs, assesses the changes, asks for consent, and
// verifies the result.
//
// An [Operator] works on one stack. [Open] finds the stack; each method is one complete operation. Its events go to
// [Options.Events], and it returns its result. Its error is a [RefusedError] if it changed nothing, a [FailedError] if the engine
// failed, or another error.
//
// [RunSite] does one operation on all stacks of a project, one after the other.
//
// The command line em-infra consists of flags and output around this package; docs/embedding.md shows another program.
package operator

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Options are the options of [Open].
type Options struct {
	// Stack is the name of the stack. Required.
	Stack string
	// Project is a folder of the project. Default: the current folder.
	Project string
	// Inventory is the folder with the inventory: cluster.yaml and nodes.yaml, hosts.yaml, or systems.yaml. A relative path starts at the current folder. Default: the folder in
	// the stack's configuration.
	Inventory string
	// Lab provides the emulated host of a rehearsal. Default: nil, the real host.
	Lab Lab
	// Yes gives consent to the operations beforehand.
	Yes bool
	// Person is asked for consent unless Yes is set. Default: nil, so that operations that need consent are refused.
	Person Person
	// Events receives the events of operations. Default: nil, none.
	Events Events
	// ToolsProgress receives the output while tools are downloaded or built; on a terminal it rewrites one line. Default: none.
	ToolsProgress io.Writer
	// Tool is the executable of em-infra. The program's Commands call it, and it ends the engine's plugins if this process is killed.
	// Default: the Commands use the value of EM_INFRA, or compile em-infra, for which your module has it as a tool
	// (docs/embedding.md), and the next operation ends the plugins of a killed process.
	Tool string
	// Keep is the number of artifacts of each operation, and of backups of each kind, to keep; the oldest are deleted first. Default:
	// 0, which means [DefaultKeep].
	Keep int
	// Wait is how long an operation that changes the stack waits for another run on it to end. Default: 0, it is refused at once.
	Wait time.Duration
	// Clock is the clock of the operations. Default: nil, the system's clock.
	Clock Clock
}

// Operator works on one stack, with one operation at a time.
type Operator struct {
	options   Options
	workspace *workspace.Workspace
	events    *serialEvents
	clock     Clock
	// unread is why [Operator.CompleteEnvironment] could not read secrets.sops.yaml; fromSecrets are the variables that it has set.
	unread      error
	fromSecrets []string
}

var errNoStackNamed = errors.New("no stack is named: add --stack NAME, e.g. --stack k3s-dev")

// Open finds the stack's files on this machine. It starts nothing and reads no inventory. It returns a [RefusedError] if there is no
// project or the name is not valid.
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
		return rehearsalOf(root, options.Stack, options.Inventory)
	}
	return workspace.Real(root, options.Stack, options.Inventory)
}

// rehearsalOf returns the workspace of a rehearsal. A lab that several stacks share follows the inventories in their files.
func rehearsalOf(root, stack, inventory string) (*workspace.Workspace, error) {
	w, err := workspace.Rehearsal(root, stack, inventory)
	if err != nil || inventory == "" || w.SharedLab() == "" {
		return w, err
	}
	own, err := workspace.Rehearsal(root, stack, "")
	if err == nil && own.Inventory != w.Inventory {
		err = fmt.Errorf("%s shares its lab with other stacks, and it follows the inventory in %s: leave --inventory out", stack, workspace.Nearby(own.Inventory))
	}
	return w, err
}

// Place returns the flags that select this stack in commands of em-infra.
func (o *Operator) Place() string { return o.remedies().Stack }

// remedies returns the stack and flags for the commands in messages.
func (o *Operator) remedies() remedy.Place {
	return remedy.On(o.workspace.Stack, o.options.Inventory, o.workspace.Rehearsed)
}

// Workspace returns the paths of the stack's files.
func (o *Operator) Workspace() Workspace { return *o.workspace }

// Workspace contains the paths of a stack's files on this machine.
type Workspace = workspace.Workspace

// Inventory loads the stack's inventory. The error contains all its problems.
func (o *Operator) Inventory() (*inventory.Inventory, error) {
	inv, err := inventory.Load(workspace.Nearby(o.workspace.Inventory))
	if err == nil {
		err = otherstacks.Resolve(inv, o.workspace.Root)
	}
	if err != nil {
		return nil, err
	}
	return inv, nil
}

func (o *Operator) emit(event Event) { o.events.Handle(event) }

// site returns the site of the rehearsal's lab.
func (o *Operator) site() Site { return siteOf(o.workspace) }

// Clock provides the time and waits.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// After returns a channel that receives the time after the duration.
	After(d time.Duration) <-chan time.Time
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// ToolVariable is the environment variable with the path of em-infra for the program's Commands.
const ToolVariable = "EM_INFRA"
