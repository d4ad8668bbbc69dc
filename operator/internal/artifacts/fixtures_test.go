package artifacts_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// ticking returns a clock that advances one second with each call.
func ticking() func() time.Time {
	now := noon.Add(-time.Second)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func begin(t *testing.T, secrets ...string) *artifacts.Run {
	t.Helper()
	run, err := artifacts.Folder{Dir: t.TempDir()}.Begin(ticking(), "up", secrets)
	require.NoError(t, err)
	return run
}

func urn(kind tokens.Type, name string) resource.URN {
	return resource.NewURN("k3s-dev", "em-infra", "", kind, name)
}

func step(kind tokens.Type, name string, op apitype.OpType) apitype.StepEventMetadata {
	return apitype.StepEventMetadata{Op: op, URN: string(urn(kind, name)), Type: string(kind), New: &apitype.StepEventStateMetadata{Custom: kind.Package() != "em-infra"}}
}

func before(kind tokens.Type, name string, op apitype.OpType) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: step(kind, name, op)}}}
}

func after(kind tokens.Type, name string, op apitype.OpType) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: step(kind, name, op)}}}
}

func failure(kind tokens.Type, name string, op apitype.OpType) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOpFailedEvent: &apitype.ResOpFailedEvent{Metadata: step(kind, name, op)}}}
}

func diagnostic(message string) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Message: message}}}
}

// sealed returns a secret in the form of an export in plain text.
func sealed(t *testing.T, value any) map[string]any {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return map[string]any{sig.Key: sig.Secret, "plaintext": string(text)}
}

func read(t *testing.T, run *artifacts.Run, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{run.Dir}, path...)...))
	require.NoError(t, err)
	return string(text)
}
