package operator

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

var _ rehearsal.System = (*stage)(nil)

// Scale implements [rehearsal.System].
func (s *stage) Scale(more bool) error {
	text := s.plain
	if more {
		text = s.extended
	}
	return os.WriteFile(s.nodesFile(), text, 0o600)
}

// Preflight implements [rehearsal.System].
func (s *stage) Preflight(ctx context.Context) (string, error) {
	session, err := s.begin(ctx, needs{lab: true, newStack: true, refresh: true})
	if err != nil {
		return "", err
	}
	report, err := session.hostChecks(false).preflight(ctx)
	if err != nil {
		return "", err
	}
	var failed []error
	for _, check := range report {
		if check.Result == preflight.Fail {
			failed = append(failed, errors.New(check.Sentence))
		}
	}
	return report.Summary(), errors.Join(failed...)
}

// Up implements [rehearsal.System].
func (s *stage) Up(ctx context.Context) ([]rehearsal.Change, error) {
	session, err := s.begin(ctx, needs{lab: true, newStack: true, refresh: true})
	if err != nil {
		return nil, err
	}
	defer session.recovery.Release(ctx)
	if err := session.recovery.SettleProcesses(ctx); err != nil {
		return nil, err
	}
	if err := session.recovery.Recover(ctx, true); err != nil {
		return nil, err
	}
	if err := session.recovery.DeleteNeverRan(ctx); err != nil { // a rehearsal needs no consent
		return nil, err
	}
	changes, err := watched(func(stream chan<- events.EngineEvent) error {
		_, err := session.engine.stack.Up(ctx, optup.ProgressStreams(s.log), optup.ErrorProgressStreams(s.log), optup.SuppressOutputs(), optup.EventStreams(stream))
		return err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	outputs, err := session.inState().outputs(ctx)
	if err != nil {
		return nil, err
	}
	s.kubeconfig = []byte(outputs.Kubeconfig)
	return changes, session.credentials().keep(outputs)
}

// Preview implements [rehearsal.System].
func (s *stage) Preview(ctx context.Context) ([]rehearsal.Change, error) {
	session, err := s.begin(ctx, needs{refresh: true})
	if err != nil {
		return nil, err
	}
	changes, err := watched(func(stream chan<- events.EngineEvent) error {
		_, err := session.engine.stack.Preview(ctx, optpreview.ProgressStreams(s.log), optpreview.ErrorProgressStreams(s.log), optpreview.EventStreams(stream))
		return err
	})
	return changes, s.failed(err)
}

// Destroy implements [rehearsal.System].
func (s *stage) Destroy(ctx context.Context) ([]rehearsal.Change, error) {
	session, err := s.begin(ctx, needs{refresh: true})
	if err != nil {
		return nil, err
	}
	defer session.recovery.Release(ctx)
	if err := session.recovery.SettleProcesses(ctx); err != nil {
		return nil, err
	}
	if err := session.recovery.Recover(ctx, false); err != nil {
		return nil, err
	}
	if err := session.recovery.DeleteNeverRan(ctx); err != nil { // a rehearsal needs no consent
		return nil, err
	}
	changes, err := watched(func(stream chan<- events.EngineEvent) error {
		_, err := session.engine.stack.Destroy(ctx, optdestroy.ProgressStreams(s.log), optdestroy.ErrorProgressStreams(s.log), optdestroy.EventStreams(stream))
		return err
	})
	return changes, s.failed(err)
}

// Nodes implements [rehearsal.System].
func (s *stage) Nodes(ctx context.Context) ([]rehearsal.Node, error) {
	return rehearsal.NodesOf(ctx, s.kubeconfig)
}

// Host implements [rehearsal.System].
func (s *stage) Host(ctx context.Context) (rehearsal.Host, error) {
	host, found, err := s.options.Lab.Find(s.site())
	if err == nil && !found {
		err = errors.New("the lab of the rehearsal is gone: run it again")
	}
	if err != nil {
		return rehearsal.Host{}, err
	}
	return rehearsal.LookAt(ctx, pve.Connection{Endpoint: host.Endpoint, Token: host.Token, Insecure: true})
}

// Writes implements [rehearsal.System].
func (s *stage) Writes() ([]string, error) { return s.options.Lab.Writes(s.site()) }

// failed reduces an error to the CLI's error messages if it contains any; the log has the whole output.
func (s *stage) failed(err error) error {
	if err == nil {
		return nil
	}
	var sentences []string
	for line := range strings.Lines(err.Error()) {
		if _, sentence, found := strings.Cut(line, "error: "); found {
			sentences = append(sentences, strings.TrimSpace(sentence))
		}
	}
	if len(sentences) == 0 {
		return err
	}
	return errors.New(strings.Join(sentences, "\n"))
}

// watched runs the engine with a stream for its events, and returns the changes that it reports.
func watched(run func(chan<- events.EngineEvent) error) ([]rehearsal.Change, error) {
	var changes []rehearsal.Change
	err := engine.Watch(run, func(event events.EngineEvent) {
		if change, isOne := changeIn(event); isOne {
			changes = append(changes, change)
		}
	})
	return changes, err
}

// changeIn returns the change that an event announces, if any. A component is not a change: it only groups other resources.
func changeIn(event events.EngineEvent) (rehearsal.Change, bool) {
	if event.ResourcePreEvent == nil {
		return rehearsal.Change{}, false
	}
	step := event.ResourcePreEvent.Metadata
	operation, isChange := operations[step.Op]
	state := cmp.Or(step.New, step.Old)
	return rehearsal.Change{Operation: operation, Resource: resource.URN(step.URN).Name()}, isChange && state != nil && state.Custom
}

// operations are the steps that change something. The create and delete steps of a replacement are not counted besides it.
var operations = map[apitype.OpType]rehearsal.Operation{
	apitype.OpCreate:  rehearsal.Create,
	apitype.OpUpdate:  rehearsal.Update,
	apitype.OpReplace: rehearsal.Replace,
	apitype.OpDelete:  rehearsal.Delete,
}
