package operator

import (
	"context"
	"io"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovering"
)

// newRecovery returns the recovery that cleans up after earlier runs in this session.
func (s *session) newRecovery() *recovering.Recovery {
	r := &recovering.Recovery{
		Workspace: s.workspace, State: s.state, Engine: recoveryEngine{s.engine}, Host: hostThatTells(&s.host), Nodes: nodes{},
		Place: s.place, Now: s.clock.Now, Say: func(sentence string) { s.recovered(sentence) },
		Turn: recovering.Turn{Limit: s.options.Wait, Tell: func(sentence string) { s.emit(Note{Text: sentence}) }},
	}
	if s.consent.needed() && s.consent.person != nil {
		r.Ask = func(ctx context.Context, about, question, yes string) (bool, error) {
			return s.consent.person.Confirm(ctx, Question{About: about, Text: question, Yes: yes})
		}
	}
	return r
}

// work sets the session's inventory.
func (s *session) work(inv *inventory.Inventory) {
	s.inventory, s.engine.content = inv, inv
	s.recovery.Inventory, s.recovery.Bootstrap = inv, components.BootstrapName(inv.Cluster.Name)
}

// recovered emits a [Recovered] for each sentence.
func (o *Operator) recovered(sentences ...string) {
	for _, sentence := range sentences {
		o.emit(Recovered{sentence})
	}
}

// hostThatTells returns a function that makes a client of Proxmox VE. The client calls tell with what it waits for. The connection may be set after
// this call.
func hostThatTells(connection *pve.Connection) func(tell func(string)) (recovering.Host, error) {
	return func(tell func(string)) (recovering.Host, error) {
		host, err := pve.NewHost(*connection)
		if err != nil {
			return nil, refused(err)
		}
		host.Tell = tell
		return host, nil
	}
}

// recoveryEngine implements the engine of [recovering.Recovery].
type recoveryEngine struct{ engine *stackEngine }

func (e recoveryEngine) Plan(ctx context.Context) ([]apitype.EngineEvent, error) {
	_, seen, err := e.engine.preview(ctx)
	return seen, err
}

func (e recoveryEngine) Refresh(ctx context.Context, urns []string) error {
	_, err := e.engine.stack.Refresh(ctx, optrefresh.Target(urns), optrefresh.ProgressStreams(io.Discard), optrefresh.SuppressOutputs())
	return sentenceOf(err)
}

// nodes implements the node access of [recovering.Recovery] with the Talos API.
type nodes struct{}

func (nodes) IsBootstrapped(ctx context.Context, credentials nodeops.Credentials, address string) (bool, error) {
	return nodeops.IsBootstrapped(ctx, credentials, address)
}

func (nodes) Listens(ctx context.Context, address string) bool { return nodeops.Listens(ctx, address) }

func (nodes) AwaitSecure(ctx context.Context, wait nodeops.Wait) error { return wait.UntilSecure(ctx) }
