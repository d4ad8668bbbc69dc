package provider_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/truenas/provider"
)

// TestServe speaks to the plugin as the engine does: over gRPC, at the port of its first line. It ends with its context.
func TestServe(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- provider.Serve(ctx, "127.0.0.1:1", in) }()
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	connection, err := grpc.NewClient("127.0.0.1:"+strings.TrimSpace(port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer connection.Close()
	engine := pulumirpc.NewResourceProviderClient(connection)
	info, err := engine.GetPluginInfo(ctx, &emptypb.Empty{})
	require.NoError(t, err)
	require.Equal(t, "0.1.0", info.GetVersion())
	_, err = engine.Handshake(ctx, &pulumirpc.ProviderHandshakeRequest{})
	require.NoError(t, err)
	_, err = engine.Configure(ctx, &pulumirpc.ConfigureRequest{})
	require.NoError(t, err)
	schema, err := engine.GetSchema(ctx, &pulumirpc.GetSchemaRequest{})
	require.NoError(t, err)
	require.Equal(t, `{"name":"truenas"}`, schema.GetSchema())
	end()
	require.NoError(t, <-ended)
}

// TestInstall runs the script as the engine does: with an address.
func TestInstall(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for range 2 {
		require.NoError(t, provider.Install(home, `${EM_INFRA:-echo}`))
	}
	script := filepath.Join(home, "plugins", "resource-truenas-v0.1.0", "pulumi-resource-truenas")
	command := exec.Command(script, "127.0.0.1:1")
	command.Env = append(os.Environ(), "EM_INFRA=")
	output, err := command.Output()
	require.NoError(t, err)
	require.Equal(t, "plugin truenas 127.0.0.1:1\n", string(output))
}
