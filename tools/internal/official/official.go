// Package official compares a plugin with recorded answers of the official plugin. It is for tests. Only few of the machines that
// run tests can download the official plugins, and a state must mean the same to both. The files with the answers say which plugin
// answered, and how it was asked.
package official

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/pulumi/pulumi-go-provider/integration/fake"
	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
)

// Record is a file of answers.
type Record struct {
	Source        string           `json:"source"`        // the plugin, the version that it was built from, and the time of the answers
	Configuration *structpb.Struct `json:"configuration"` // inputs of its provider, made up
	Answers       []Answer         `json:"answers"`       // in the order in which they were given
}

// Answer is an answer of the official plugin, with the request.
type Answer struct {
	Call  Call             `json:"call"`
	Type  string           `json:"type"` // of the resource
	Given *structpb.Struct `json:"given"`
	// State is the state of the resource, as the official plugin wrote it. It is for a difference.
	State *structpb.Struct `json:"state,omitempty"`
	// Ignored are the program's ignoreChanges. They are for a difference.
	Ignored []string `json:"ignored,omitempty"`
	// Answer contains inputs, planned outputs, or the paths that differ.
	Answer *structpb.Struct `json:"answer"`
}

// Call is a kind of request to a plugin.
type Call string

// The calls.
const (
	CheckConfig Call = "checkConfig" // inputs of a provider, with its defaults
	Check       Call = "check"       // inputs of a resource, with its defaults
	Plan        Call = "plan"        // outputs of a resource that does not exist yet
	Diff        Call = "diff"        // between a state and the inputs that led to it; there is none if the answer is empty
)

// Start starts a server as the engine would, beside an engine that keeps the logs.
func Start(t *testing.T, serve func(*pprovider.HostClient) (pulumirpc.ResourceProviderServer, error)) pulumirpc.ResourceProviderServer {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	addr, done, err := fake.StartEngineServer(ctx, fake.NewEngineServer())
	require.NoError(t, err)
	host, err := pprovider.NewHostClient(addr)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, host.Close())
		stop()
		<-done
	})
	server, err := serve(host)
	require.NoError(t, err)
	return server
}

// Hold sends the recorded requests to the plugin, and expects the answers of the official plugin.
func Hold(t *testing.T, server pulumirpc.ResourceProviderServer, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var record Record
	require.NoError(t, json.Unmarshal(text, &record))
	require.NotEmpty(t, record.Source)
	require.NotEmpty(t, record.Answers)
	_, err = server.Configure(t.Context(), &pulumirpc.ConfigureRequest{Args: record.Configuration, AcceptSecrets: true, AcceptResources: true})
	require.NoError(t, err)
	for i, want := range record.Answers {
		got, err := ask(t.Context(), server, want)
		require.NoError(t, err)
		require.Equal(t, want.Answer.AsMap(), got, "%s, answer %d: %s of %s", path, i, want.Call, want.Type)
	}
}

func ask(ctx context.Context, server pulumirpc.ResourceProviderServer, a Answer) (map[string]any, error) {
	urn := string(resource.NewURN("stack", "em-infra", "", tokens.Type(a.Type), "asked"))
	switch a.Call {
	case CheckConfig:
		response, err := server.CheckConfig(ctx, &pulumirpc.CheckRequest{Urn: urn, News: a.Given})
		return response.GetInputs().AsMap(), err
	case Check:
		response, err := server.Check(ctx, &pulumirpc.CheckRequest{Urn: urn, News: a.Given})
		return response.GetInputs().AsMap(), err
	case Plan:
		response, err := server.Create(ctx, &pulumirpc.CreateRequest{Urn: urn, Properties: a.Given, Preview: true})
		return response.GetProperties().AsMap(), err
	case Diff:
		response, err := server.Diff(ctx, &pulumirpc.DiffRequest{Id: "asked", Urn: urn, Olds: a.State, OldInputs: a.Given, News: a.Given, IgnoreChanges: a.Ignored})
		paths := map[string]any{}
		for path, change := range response.GetDetailedDiff() {
			paths[path] = change.GetKind().String()
		}
		if response.GetChanges() == pulumirpc.DiffResponse_DIFF_SOME && len(paths) == 0 {
			paths["?"] = "SOME"
		}
		return paths, err
	default:
		return nil, fmt.Errorf("unknown call %q", a.Call)
	}
}
