package operator

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// recorder writes the artifacts of the engine's runs.
type recorder struct {
	folder     artifacts.Folder
	stack      string
	content    Content
	state      *stackstate.State
	configured *artifacts.Planned // the program's machine configurations
	secrets    []string           // of the stack's configuration
	now        func() time.Time
	emit       func(Event)
}

func (e *stackEngine) recorder() recorder {
	return recorder{
		folder: e.artifacts(), stack: e.workspace.Stack, content: e.content,
		state: e.state, configured: &e.configured, secrets: e.secrets, now: e.clock.Now, emit: e.emit,
	}
}

// record runs an operation of the engine and writes its artifacts, whether it succeeds or fails. Each event is also passed to
// watch, unless watch is nil.
func (r recorder) record(ctx context.Context, command string, operate func(stream chan<- events.EngineEvent) error, watch func(events.EngineEvent)) error {
	before, err := r.state.Seen(ctx)
	if err != nil {
		return err
	}
	run, err := r.begin(before.Deployment, command)
	if err != nil {
		return err
	}
	failure := engine.Watch(operate, func(event events.EngineEvent) {
		run.Keep(event)
		if watch != nil {
			watch(event)
		}
	})
	end := artifacts.End{Stack: r.stack, Command: command, Outcome: artifacts.Succeeded, Dependencies: state.Dependencies(before.Deployment)}
	switch {
	case failure == nil:
	case ctx.Err() != nil:
		end.Outcome = artifacts.Interrupted
	default:
		end.Outcome, end.Error = artifacts.Failed, sentenceOf(failure).Error()
	}
	if err := r.finish(context.WithoutCancel(ctx), run, end); err != nil {
		return withBeside(failure, err)
	}
	r.emit(ArtifactsKept{Dir: run.Dir})
	return failure
}

func (r recorder) begin(before apitype.DeploymentV3, command string) (*artifacts.Run, error) {
	secrets, err := state.SecretTexts(before)
	if err != nil {
		return nil, err
	}
	run, err := r.folder.Begin(r.now, command, append(secrets, r.secrets...))
	if err != nil {
		return nil, err
	}
	files, err := r.content.Files()
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, file := range files {
		texts[file.Name] = file.Text
	}
	return run, run.Inventory(texts)
}

func (r recorder) finish(ctx context.Context, run *artifacts.Run, end artifacts.End) error {
	after, err := r.state.Last(ctx)
	if err != nil {
		after = &engine.Exported{} // the run reports the error of the state; the redactor uses the secrets from before the run
	}
	secrets, err := state.SecretTexts(after.Deployment)
	if err != nil {
		return err
	}
	applied, err := state.GivenConfigurations(after.Deployment)
	if err != nil {
		return err
	}
	maps.Copy(end.Dependencies, state.Dependencies(after.Deployment))
	return errors.Join(run.MachineConfigurations(r.configured.Over(applied)), run.Finish(end, secrets))
}

// secretsIn returns the values of a configuration that are marked as secret.
func secretsIn(config auto.ConfigMap) []string {
	var secrets []string
	for _, value := range config {
		if value.Secret {
			secrets = append(secrets, value.Value)
		}
	}
	return secrets
}
