package command_test

import (
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/internal/contract"
	"github.com/em-infra/em-infra/tools/standin/command"
)

// TestSchemaServesTheSDK compares the schema with the Go SDK: every input and output with its type, and what is required and
// secret.
func TestSchemaServesTheSDK(t *testing.T) {
	t.Parallel()
	sdk, err := contract.FindSDK("github.com/pulumi/pulumi-command/sdk")
	require.NoError(t, err)
	server, err := command.Server(sdk.Version)(nil)
	require.NoError(t, err)
	schema, err := server.GetSchema(t.Context(), &pulumirpc.GetSchemaRequest{})
	require.NoError(t, err)

	const notServed = "the stand-in serves what the project uses: command:local:Command"
	differences, err := contract.Compare(sdk, "go/command", []byte(schema.GetSchema()), contract.Exceptions{
		"command:local:run":           notServed,
		"command:remote:Command":      notServed,
		"command:remote:CopyFile":     notServed,
		"command:remote:CopyToRemote": notServed,
	})
	require.NoError(t, err)
	require.Empty(t, strings.Join(differences, "\n"))
}

func TestConfigureSaysThatItIsAStandIn(t *testing.T) {
	t.Parallel()
	h := start(t)
	_, err := h.Configure(t.Context(), &pulumirpc.ConfigureRequest{})
	require.NoError(t, err)
	logs := h.engine.Logs()
	require.Len(t, logs, 1)
	require.Equal(t, command.Notice, logs[0].GetMessage())
	require.Equal(t, pulumirpc.LogSeverity_INFO, logs[0].GetSeverity())
	require.False(t, logs[0].GetEphemeral())
}
