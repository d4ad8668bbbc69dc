package operator

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

// recorded runs an operation of the engine and writes its artifacts, whether it succeeds or fails. Each event is also passed to
// watch, unless watch is nil.
func (s *session) recorded(ctx context.Context, command string, operate func(stream chan<- events.EngineEvent) error, watch func(events.EngineEvent)) error {
	run, err := s.beginArtifacts(ctx, command)
	if err != nil {
		return err
	}
	failure := engine.Watch(operate, func(event events.EngineEvent) {
		run.Keep(event)
		if watch != nil {
			watch(event)
		}
	})
	end := artifacts.End{Stack: s.workspace.Stack, Command: command, Outcome: artifacts.Succeeded}
	switch {
	case failure == nil:
	case ctx.Err() != nil:
		end.Outcome = artifacts.Interrupted
	default:
		end.Outcome, end.Error = artifacts.Failed, sentenceOf(failure).Error()
	}
	if err := s.finishArtifacts(context.WithoutCancel(ctx), run, end); err != nil {
		return errors.Join(failure, err)
	}
	s.emit(ArtifactsKept{Dir: run.Dir})
	return failure
}

func (s *session) beginArtifacts(ctx context.Context, command string) (*artifacts.Run, error) {
	before, err := s.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	secrets, err := artifacts.SecretsOf(&before.Deployment)
	if err != nil {
		return nil, err
	}
	run, err := artifacts.Folder{Dir: s.workspace.Artifacts, Keep: s.options.Keep}.Begin(s.clock.Now, command, append(secrets, s.secrets...))
	if err != nil {
		return nil, err
	}
	effective, err := s.inventory.Effective()
	if err != nil {
		return nil, err
	}
	return run, run.Inventory(map[string][]byte{inventory.ClusterFile: effective.Cluster, inventory.NodesFile: effective.Nodes})
}

func (s *session) finishArtifacts(ctx context.Context, run *artifacts.Run, end artifacts.End) error {
	after, err := s.state.Last(ctx)
	if err != nil {
		after = &engine.Exported{} // the run reports the error of the state; the redactor uses the secrets from before the run
	}
	secrets, err := artifacts.SecretsOf(&after.Deployment)
	if err != nil {
		return err
	}
	applied, err := artifacts.Applied(&after.Deployment)
	if err != nil {
		return err
	}
	return errors.Join(run.MachineConfigurations(s.configured.Over(applied)), run.Finish(end, secrets))
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
