package adoption_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// pluginVariable is set for a process of this test that is a plugin.
const pluginVariable = "EM_INFRA_TEST_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(pluginVariable) != "" {
		os.Exit(servePlugin())
	}
	os.Exit(m.Run())
}

// servePlugin is a plugin, until it is killed: it prints its port, as the engine expects.
func servePlugin() int {
	if os.Getenv(pluginVariable) == "mute" {
		fmt.Println("no port")
		return 1
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	server := grpc.NewServer()
	pulumirpc.RegisterResourceProviderServer(server, &aPlugin{engine: os.Args[1]})
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		return 1
	}
	return 0
}

// aPlugin knows whom it was started for and how it was configured.
type aPlugin struct {
	pulumirpc.UnimplementedResourceProviderServer
	engine     string
	configured int
}

func (p *aPlugin) Handshake(context.Context, *pulumirpc.ProviderHandshakeRequest) (*pulumirpc.ProviderHandshakeResponse, error) {
	return &pulumirpc.ProviderHandshakeResponse{AcceptSecrets: true}, nil
}

func (p *aPlugin) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	p.configured++
	return &pulumirpc.ConfigureResponse{}, nil
}

func (p *aPlugin) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: fmt.Sprintf("for %s, configured %d times", p.engine, p.configured)}, nil
}

func (p *aPlugin) Diff(context.Context, *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return nil, status.Error(codes.InvalidArgument, "this cannot be compared")
}

// connect is the engine's connection to the one plugin of a gateway.
func connect(t *testing.T, gateway *adoption.Gateway) pulumirpc.ResourceProviderClient {
	t.Helper()
	name, port, found := strings.Cut(gateway.Value(), ":")
	require.True(t, found)
	require.Equal(t, "proxmoxve", name)
	connection, err := grpc.NewClient("127.0.0.1:"+port, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	return pulumirpc.NewResourceProviderClient(connection)
}

func open(t *testing.T, kind string) *adoption.Gateway {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	gateway, err := adoption.Open([]adoption.Plugin{{Name: "proxmoxve", Path: self, Env: append(os.Environ(), pluginVariable+"="+kind)}}, &adoption.Recorder{})
	require.NoError(t, err)
	t.Cleanup(gateway.Close)
	return gateway
}

func TestEachConnectionHasAPluginOfItsOwn(t *testing.T) {
	t.Parallel()
	gateway := open(t, "speaks")
	for _, engine := range []string{"127.0.0.1:1111", "127.0.0.1:2222"} {
		api := connect(t, gateway)
		_, err := api.GetPluginInfo(t.Context(), &emptypb.Empty{})
		require.Equal(t, "the engine has not greeted the provider on this connection", status.Convert(err).Message())
		greeted, err := api.Handshake(t.Context(), &pulumirpc.ProviderHandshakeRequest{EngineAddress: engine})
		require.NoError(t, err)
		require.True(t, greeted.GetAcceptSecrets(), "as the plugin itself says")
		_, err = api.Attach(t.Context(), &pulumirpc.PluginAttach{Address: engine})
		require.NoError(t, err)
		_, err = api.Configure(t.Context(), &pulumirpc.ConfigureRequest{})
		require.NoError(t, err)
		about, err := api.GetPluginInfo(t.Context(), &emptypb.Empty{})
		require.NoError(t, err)
		require.Equal(t, "for "+engine+", configured 1 times", about.GetVersion())
		_, err = api.Diff(t.Context(), &pulumirpc.DiffRequest{})
		require.Equal(t, codes.InvalidArgument, status.Code(err), "errors come through as they are")
	}
}

func TestNothingIsCreatedChangedOrDeleted(t *testing.T) {
	t.Parallel()
	api := connect(t, open(t, "speaks"))
	_, err := api.Handshake(t.Context(), &pulumirpc.ProviderHandshakeRequest{EngineAddress: "127.0.0.1:1111"})
	require.NoError(t, err)
	_, err = api.Update(t.Context(), &pulumirpc.UpdateRequest{})
	require.Equal(t, "an adoption changes and deletes nothing", status.Convert(err).Message())
	_, err = api.Delete(t.Context(), &pulumirpc.DeleteRequest{})
	require.Equal(t, "an adoption changes and deletes nothing", status.Convert(err).Message())

	inputs := marshal(t, resource.NewPropertyMapFromMap(map[string]any{"create": "true"}))
	made, err := api.Create(t.Context(), &pulumirpc.CreateRequest{Urn: stack + token.Command + "::k3s-dev-pool", Properties: inputs})
	require.NoError(t, err, "the plugin, which implements no creation, is not asked")
	require.Contains(t, made.GetId(), "k3s-dev-pool")
}

func TestAPluginThatDoesNotStart(t *testing.T) {
	t.Parallel()
	_, err := connect(t, open(t, "mute")).Handshake(t.Context(), &pulumirpc.ProviderHandshakeRequest{})
	require.Contains(t, status.Convert(err).Message(), "start the plugin proxmoxve: it names no port: ")
}
