package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/preflight"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/rehearsal"
	"github.com/em-infra/em-infra/stacks"
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
	session, err := s.open(ctx, want{startLab: true, newStack: true})
	if err != nil {
		return "", err
	}
	report, err := session.preflight(ctx)
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
	session, err := s.open(ctx, want{startLab: true, newStack: true})
	if err != nil {
		return nil, err
	}
	if err := session.quiet(ctx); err != nil {
		return nil, err
	}
	if err := session.recover(ctx, true); err != nil {
		return nil, err
	}
	if err := session.deleteNeverRan(ctx); err != nil { // a rehearsal needs no consent
		return nil, err
	}
	var result auto.UpResult
	changes, err := watched(func(stream chan<- events.EngineEvent) (err error) {
		result, err = session.stack.Up(ctx, optup.ProgressStreams(s.log), optup.ErrorProgressStreams(s.log), optup.SuppressOutputs(), optup.EventStreams(stream))
		return err
	})
	if err != nil {
		return nil, s.failed(err)
	}
	outputs, err := stacks.ParseOutputs(result.Outputs)
	if err != nil {
		return nil, err
	}
	s.kubeconfig = []byte(outputs.Kubeconfig)
	return changes, session.keepCredentials(outputs)
}

// Preview implements [rehearsal.System].
func (s *stage) Preview(ctx context.Context) ([]rehearsal.Change, error) {
	session, err := s.open(ctx, want{})
	if err != nil {
		return nil, err
	}
	changes, err := watched(func(stream chan<- events.EngineEvent) error {
		_, err := session.stack.Preview(ctx, optpreview.ProgressStreams(s.log), optpreview.ErrorProgressStreams(s.log), optpreview.EventStreams(stream))
		return err
	})
	return changes, s.failed(err)
}

// Destroy implements [rehearsal.System].
func (s *stage) Destroy(ctx context.Context) ([]rehearsal.Change, error) {
	session, err := s.open(ctx, want{})
	if err != nil {
		return nil, err
	}
	if err := session.quiet(ctx); err != nil {
		return nil, err
	}
	if err := session.recover(ctx, false); err != nil {
		return nil, err
	}
	if err := session.deleteNeverRan(ctx); err != nil { // a rehearsal needs no consent
		return nil, err
	}
	changes, err := watched(func(stream chan<- events.EngineEvent) error {
		_, err := session.stack.Destroy(ctx, optdestroy.ProgressStreams(s.log), optdestroy.ErrorProgressStreams(s.log), optdestroy.EventStreams(stream))
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
	d, err := lab.ReadDescription(s.workspace.Dir)
	if err != nil {
		return rehearsal.Host{}, err
	}
	return rehearsal.LookAt(ctx, pve.Connection{Endpoint: d.ProxmoxEndpoint(), Token: d.Token, Insecure: true})
}

// Writes implements [rehearsal.System].
func (s *stage) Writes() ([]string, error) { return rehearsal.WritesIn(lab.HostCalls(s.workspace.Dir)) }

// open opens a session as a person's command would, which speaks to the log.
func (s *stage) open(ctx context.Context, wanted want) (*session, error) {
	return openSession(ctx, s.flags, wanted, streams{in: strings.NewReader(""), out: s.log, err: s.log})
}

// failed is the error of a run whose words are in the log: the lines that the CLI called errors, else its own.
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
	stream, ended := make(chan events.EngineEvent), make(chan struct{})
	changes := make(chan []rehearsal.Change)
	go func() { changes <- changesIn(stream, ended) }()
	err := run(stream)
	close(ended)
	return <-changes, err
}

// changesIn collects until the stream is closed, which it is not when the engine never began.
func changesIn(stream <-chan events.EngineEvent, ended <-chan struct{}) []rehearsal.Change {
	var changes []rehearsal.Change
	for {
		select {
		case <-ended:
			return changes
		case event, open := <-stream:
			if !open {
				return changes
			}
			if change, isOne := changeIn(event); isOne {
				changes = append(changes, change)
			}
		}
	}
}

// changeIn is the change that an event announces, if it does. A component is none: it has nothing behind it, and its
// record changes with its parts.
func changeIn(event events.EngineEvent) (rehearsal.Change, bool) {
	if event.ResourcePreEvent == nil {
		return rehearsal.Change{}, false
	}
	step := event.ResourcePreEvent.Metadata
	operation, isChange := operations[step.Op]
	state := cmp.Or(step.New, step.Old)
	return rehearsal.Change{Operation: operation, Resource: resource.URN(step.URN).Name()}, isChange && state != nil && state.Custom
}

// operations are the steps that change something. The two halves of a replacement are told by the replacement.
var operations = map[apitype.OpType]rehearsal.Operation{
	apitype.OpCreate:  rehearsal.Create,
	apitype.OpUpdate:  rehearsal.Update,
	apitype.OpReplace: rehearsal.Replace,
	apitype.OpDelete:  rehearsal.Delete,
}
