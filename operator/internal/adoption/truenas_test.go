package adoption_test

import (
	"context"
	"net"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	truenas "github.com/em-infra/em-infra/internal/truenas/provider"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// onBox is what a cluster has on TrueNAS, each after what it needs.
var onBox = []struct {
	kind   string
	inputs map[string]any
}{
	{token.Dataset, map[string]any{"name": "tank/k8s", "quota": float64(5 << 30), "shareType": "NFS", "owner": "home/k3s-dev"}},
	{token.NFSShare, map[string]any{"path": "/mnt/tank/k8s", "networks": []any{"192.168.20.0/24"}, "enabled": true, "owner": "home/k3s-dev"}},
	{token.ISCSIPortal, map[string]any{"listen": []any{"0.0.0.0"}, "owner": "home/k3s-dev"}},
	{token.ISCSIInitiatorGroup, map[string]any{"initiators": []any{"iqn.a"}, "owner": "home/k3s-dev"}},
	{token.Service, map[string]any{"name": "nfs", "enabled": true, "running": true}},
	{token.Account, map[string]any{"name": "csi-k3s-dev", "roles": []any{"DATASET_WRITE"}, "hasKey": true, "owner": "home/k3s-dev"}},
}

// trueNAS is the plugin of TrueNAS itself, against a box of the lab.
func trueNAS(t *testing.T, box *truenastest.Box) pulumirpc.ResourceProviderClient {
	t.Helper()
	p := truenas.New(nil)
	_, err := p.Configure(t.Context(), plugin.ConfigureRequest{Inputs: resource.NewPropertyMapFromMap(map[string]any{
		"endpoint": box.Connection.Endpoint, "fingerprint": box.Connection.Fingerprint, "username": "em-infra", "apiKey": box.Connection.APIKey,
	})})
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	pulumirpc.RegisterResourceProviderServer(server, plugin.NewProviderServer(p))
	go func() { _ = server.Serve(listener) }() // it ends with Stop
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, p.Close())
	})
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, connection.Close()) })
	return pulumirpc.NewResourceProviderClient(connection)
}

// TestWhatIsOnTrueNASIsRead: each object is recorded under the ID that the plugin itself gives, and the box sees no write. The key of the account,
// which the box shows only once, is recorded as missing, so that the next up makes one and hands it to the driver in one run.
func TestWhatIsOnTrueNASIsRead(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	api := trueNAS(t, box)
	var recorder adoption.Recorder
	made := map[string]string{}
	for _, object := range onBox {
		answer, err := api.Create(t.Context(), request(t, object.kind, "it", object.inputs))
		require.NoError(t, err)
		made[object.kind] = answer.GetId()
	}
	seen := len(box.Writes())
	require.NotZero(t, seen)
	for _, object := range onBox {
		answer, err := recorder.Create(t.Context(), api, request(t, object.kind, "it", object.inputs))
		require.NoError(t, err)
		require.Equal(t, made[object.kind], answer.GetId())
		want := resource.NewPropertyMapFromMap(object.inputs)
		if object.kind == token.Account {
			want["hasKey"], want["apiKey"] = resource.NewProperty(false), resource.MakeSecret(resource.NewProperty(""))
		}
		require.Equal(t, want, unmarshal(t, answer.GetProperties()))
	}
	require.Empty(t, recorder.Absent())
	require.Empty(t, box.Writes()[seen:])
}

// TestWhatIsNotOnTrueNASIsNamed: an up makes it, and an adoption does not.
func TestWhatIsNotOnTrueNASIsNamed(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	api := trueNAS(t, box)
	var recorder adoption.Recorder
	for _, object := range onBox {
		_, err := recorder.Create(t.Context(), api, request(t, object.kind, "it", object.inputs))
		require.NoError(t, err)
	}
	require.Len(t, recorder.Absent(), len(onBox)-1, "a service is always there")
	require.Empty(t, box.Writes())
}
