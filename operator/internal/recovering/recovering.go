// Package recovering cleans up after killed and failed runs of one stack, in the state and on the host. It contains the order of the
// steps and asks for consent; package recovery contains the changes of the state.
package recovering

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Recovery cleans up in one operation on a stack.
type Recovery struct {
	// Workspace contains the paths of the stack's files.
	Workspace *workspace.Workspace
	// Inventory is the inventory of a cluster; nil for an operation on the state alone, and for a stack that is no cluster.
	Inventory *inventory.Inventory
	// Bootstrap is the logical name of the resource for etcd's bootstrap.
	Bootstrap string
	// State is the stack's state.
	State State
	// Engine is the stack's engine.
	Engine Engine
	// Host returns a client of Proxmox VE, which calls tell with what it waits for. Its error is a refusal.
	Host func(tell func(string)) (Host, error)
	// Nodes is the access to the nodes' Talos API.
	Nodes Nodes
	// Ask asks a person a question; the answer yes means consent. Default: nil, no person is available or no consent is needed.
	Ask func(ctx context.Context, about, question, yes string) (bool, error)
	// Place contains the stack and flags for the commands in messages.
	Place remedy.Place
	// Now returns the present time.
	Now func() time.Time
	// Say receives a sentence for each step of the cleanup.
	Say func(string)
	// Turn is how it waits for another run on the stack. Default: not at all.
	Turn Turn

	neverRan   []recovery.Remnant // deleted after the consent
	unanswered []recovery.Remnant // found by a preview; up adopts them
	restarted  bool               // machines were started before the consent
	claim      *recovery.Claim    // of this run on the stack; nil for none
}

// State is the access to the stack's state.
type State interface {
	// Seen returns the state for reading.
	Seen(ctx context.Context) (*engine.Exported, error)
	// Fresh returns the state for changing it.
	Fresh(ctx context.Context) (*engine.Exported, error)
	// Import writes the state back.
	Import(ctx context.Context, exported *engine.Exported) error
	// Past returns the states in the backups, newest first.
	Past() ([]recovery.Past, error)
}

// Engine is the access to the engine.
type Engine interface {
	// Plan returns the events of a preview.
	Plan(ctx context.Context) ([]apitype.EngineEvent, error)
	// Refresh reads resources from the host into the state.
	Refresh(ctx context.Context, urns []string) error
}

// Host is the access to Proxmox VE.
type Host interface {
	recovery.Host
	recovery.Restarter

	// AwaitMade waits until none of these machines is being created any more.
	AwaitMade(ctx context.Context, vmids []int) error
	// StopTask stops a task.
	StopTask(ctx context.Context, task pve.Task) error
}

// Nodes is the access to the nodes.
type Nodes interface {
	// IsBootstrapped reports whether the etcd of a node is bootstrapped, using the cluster's credentials.
	IsBootstrapped(ctx context.Context, credentials nodeops.Credentials, address string) (bool, error)
	// Listens reports whether a node's address accepts connections.
	Listens(ctx context.Context, address string) bool
	// AwaitSecure waits until a node answers under the cluster's PKI.
	AwaitSecure(ctx context.Context, wait nodeops.Wait) error
}

// Restarted reports whether machines were started before the consent.
func (r *Recovery) Restarted() bool { return r.restarted }

// WithRecoveries adjusts the events of a preview to what happens before the engine runs: machines that never ran are created anew, and adopted
// machines stay.
func (r *Recovery) WithRecoveries(seen []apitype.EngineEvent) []apitype.EngineEvent {
	return r.asAdopted(r.asMadeAnew(seen))
}

// nodes returns the nodes of the inventory; nil for a stack that is no cluster.
func (r *Recovery) nodes() inventory.Nodes {
	if r.Inventory == nil {
		return nil
	}
	return r.Inventory.Nodes
}

func (r *Recovery) say(sentences ...string) {
	for _, sentence := range sentences {
		r.Say(sentence)
	}
}
