// Package recovering settles what killed and failed runs of one stack have left, in the state and on the host. What that means for a
// state is package recovery's to know; here is the order, and who is asked.
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

// Recovery is that of one operation on a stack.
type Recovery struct {
	// Workspace is where the files of the stack lie.
	Workspace *workspace.Workspace
	// Inventory is that of the stack; nil for an operation on the state alone.
	Inventory *inventory.Inventory
	// Bootstrap is the name of the resource that is etcd's bootstrap.
	Bootstrap string
	// State is the stack's.
	State State
	// Engine works on the stack.
	Engine Engine
	// Host is Proxmox VE; it tells what it waits for. Its error is a refusal.
	Host func(tell func(string)) (Host, error)
	// Nodes are asked by their own API.
	Nodes Nodes
	// Ask puts a question to a person, who is told what it is about and types yes. Default: nil, nobody is there, or has to be asked.
	Ask func(ctx context.Context, about, question, yes string) (bool, error)
	// Place is where the commands of messages are typed.
	Place remedy.Place
	// Now is the time.
	Now func() time.Time
	// Say is told what was settled, a sentence each.
	Say func(string)

	neverRan   []recovery.Remnant // machines that are deleted once somebody has agreed
	unanswered []recovery.Remnant // machines that a preview finds and up takes into the state
	restarted  bool               // machines were started before anybody was asked
}

// State is what a recovery does with the state.
type State interface {
	// Seen is the state for those who look.
	Seen(ctx context.Context) (*engine.Exported, error)
	// Fresh is the state for those who change it.
	Fresh(ctx context.Context) (*engine.Exported, error)
	// Import puts it back.
	Import(ctx context.Context, exported *engine.Exported) error
	// Past are the states that were kept, newest first.
	Past() ([]recovery.Past, error)
}

// Engine is what a recovery has the engine do.
type Engine interface {
	// Plan is what the engine would do, as it tells it.
	Plan(ctx context.Context) ([]apitype.EngineEvent, error)
	// Refresh reads resources from the host.
	Refresh(ctx context.Context, urns []string) error
}

// Host is what a recovery asks of Proxmox VE, and does there.
type Host interface {
	recovery.Host
	recovery.Restarter

	// AwaitMade waits until none of these machines is being made any more.
	AwaitMade(ctx context.Context, vmids []int) error
	// StopTask stops a task.
	StopTask(ctx context.Context, task pve.Task) error
}

// Nodes is what a recovery asks of the nodes.
type Nodes interface {
	// IsBootstrapped reports whether the etcd of a node is, under the credentials of the cluster.
	IsBootstrapped(ctx context.Context, credentials nodeops.Credentials, address string) (bool, error)
	// Listens reports whether anybody answers at the address of a node.
	Listens(ctx context.Context, address string) bool
	// AwaitSecure waits until a node answers under the cluster's PKI.
	AwaitSecure(ctx context.Context, wait nodeops.Wait) error
}

// Restarted reports whether machines were started before anybody was asked.
func (r *Recovery) Restarted() bool { return r.restarted }

// Told is what the engine would do, with what is done before it works: machines that never ran are made, and those that are taken into
// the state stay.
func (r *Recovery) Told(seen []apitype.EngineEvent) []apitype.EngineEvent {
	return r.asAdopted(r.asMadeAnew(seen))
}

func (r *Recovery) say(sentences ...string) {
	for _, sentence := range sentences {
		r.Say(sentence)
	}
}
