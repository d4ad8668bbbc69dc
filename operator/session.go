package operator

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/operator/internal/recovering"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// session is the context of one operation on a stack: a valid inventory, installed tools, and a host that answers. It opens the stack, and creates
// the values that do the parts of the operation.
type session struct {
	*Operator

	inventory  *inventory.Inventory // of a platform, as deployed: in a rehearsal, on the lab's network; nil for a layer
	layer      layer                // a stack that is no platform; nil for one
	interfaces []string             // of hosts, that may be changed although the API is reached by them
	engine     *stackEngine
	own        *ownResources
	state      *stackstate.State
	host       pve.Connection
	factory    string       // URL of the Image Factory
	consent    consent      // of a person, before anything is changed
	place      remedy.Place // the stack and flags for commands in messages, so that a next command works on the same stack
	recovery   *recovering.Recovery
	started    time.Time
	rotates    bool // its passphrase is changed
}

// needs are what an operation requires.
type needs struct {
	// lab starts the lab of a rehearsal if it does not run.
	lab bool
	// anyKind is whether the operation works for a stack of any kind, and not only for a platform.
	anyKind bool
	// systems is whether the operation works for a stack of systems as well.
	systems bool
	// newStack creates the stack if it does not exist.
	newStack bool
	// hostMayBeAway leaves it to the operation to report that the host does not answer.
	hostMayBeAway bool
	// refresh makes the engine read the host before it compares.
	refresh bool
	// claims takes the stack for this operation before its state is read, and waits for another run as long as [Options.Wait] says.
	claims bool
	// consent completes "type the name of the stack to …"; empty if no consent is needed.
	consent string
	// rotates is the rotation of machine secrets that may go on, as on the command line; empty for none.
	rotates string
}

// session returns a session that has read neither the inventory nor the stack. The purpose is that of [needs.consent].
func (o *Operator) session(purpose string) *session {
	s := &session{Operator: o, place: o.remedies(), started: o.clock.Now()}
	s.state = &stackstate.State{
		Backups: o.backups(), Place: s.place, Now: o.clock.Now, Kept: o.tellBackup, Bucket: o.backupBucket,
	}
	s.state.Reach = func() error { return s.statePlace(o.workspace.Backend).check(context.Background()) }
	s.consent = consent{person: o.options.Person, stack: o.workspace.Stack, place: s.place}
	if !o.options.Yes {
		s.consent.purpose = purpose
	}
	s.engine = &stackEngine{Operator: o, state: s.state, host: &s.host, place: s.place}
	s.own = &ownResources{engine: s.engine}
	s.recovery = s.newRecovery()
	s.engine.recovery = s.recovery
	s.consent.restarted = s.recovery.Restarted
	return s
}

// begin prepares an operation, cheapest check first. It changes nothing on the real host.
func (o *Operator) begin(ctx context.Context, needed needs) (*session, error) {
	s := o.session(needed.consent)
	s.engine.refresh = needed.refresh
	if err := s.take(needed); err != nil {
		return nil, refused(err)
	}
	if err := s.checkPreconditions(ctx, needed); err != nil {
		return nil, refused(err)
	}
	tools, err := o.installTools(ctx)
	if err != nil {
		return nil, err
	}
	lab, err := s.enterLab(ctx, needed)
	if err != nil {
		return nil, err
	}
	if needed.claims {
		if err := s.claim(ctx, tools); err != nil {
			return nil, err
		}
	}
	if err := s.enter(ctx, tools, lab, needed); err != nil {
		s.recovery.Release(ctx)
		return nil, err
	}
	return s, nil
}

// enter opens the stack and reaches its host.
func (s *session) enter(ctx context.Context, tools *toolchain.Installed, lab LabHost, needed needs) error {
	if err := s.selectStack(ctx, tools, needed.newStack); err != nil {
		return err
	}
	if needed.claims {
		if _, err := s.arrival().finish(ctx); err != nil {
			return err
		}
	}
	if err := s.inState().checkNoRotation(ctx, needed.rotates); err != nil {
		return err
	}
	if err := s.configure(ctx, lab); err != nil {
		return err
	}
	if needed.hostMayBeAway {
		return nil
	}
	if _, err := s.host.Reach(ctx); err != nil {
		return refused(s.place.CompleteError(err))
	}
	return nil
}

// claim takes the stack for this run, so that no other run changes what is read from now on. If the state is in a bucket that does not answer as the
// engine needs it, the error is what is wrong with the bucket.
func (s *session) claim(ctx context.Context, tools *toolchain.Installed) error {
	var err error
	if s.state.Command, err = cli(tools); err != nil {
		return err
	}
	s.recovery.Turn.Offered = true
	err = s.recovery.SettleProcesses(ctx)
	if refusal := new(RefusedError); err == nil || errors.As(err, &refusal) {
		return err
	}
	return s.statePlace(s.workspace.Backend).explained(ctx, err)
}

// installTools installs the tool chain and prepares the stack's workspace.
func (o *Operator) installTools(ctx context.Context) (*toolchain.Installed, error) {
	tools, err := toolchain.Install(ctx, toolchain.Options{Progress: o.toolsProgress(), Rehearsal: o.workspace.Rehearsed})
	if err != nil {
		return nil, err
	}
	if err := o.workspace.Prepare(); err != nil {
		return nil, err
	}
	if err := tools.Populate(o.workspace.Home); err != nil {
		return nil, err
	}
	return tools, provider.Install(o.workspace.Home, components.Tool)
}

func (o *Operator) toolsProgress() io.Writer {
	if o.options.ToolsProgress == nil {
		return io.Discard
	}
	return o.options.ToolsProgress
}
