package nodeops_test

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/state"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestSilence covers an address where nothing listens, and one where the listener sends nothing.
func TestSilence(t *testing.T) {
	t.Parallel()
	health := nodeops.Health{Talosconfig: talosconfigOf(t, secretsOf(t, ours), netip.MustParseAddr("127.0.0.1"))}
	_, err := health.Observe(t.Context(), "127.193.77.1")
	require.ErrorIs(t, err, nodeops.ErrSilent)
	require.ErrorContains(t, err, "connection refused")

	const deaf = "127.193.77.2"
	listener, err := net.Listen("tcp", net.JoinHostPort(deaf, strconv.Itoa(constants.ApidPort)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	_, err = health.Observe(t.Context(), deaf)
	require.ErrorIs(t, err, nodeops.ErrSilent)

	// The limit of a connection is then the first to pass.
	err = nodeops.AskFor(t.Context(), time.Hour, health.Talosconfig, deaf, func(ctx context.Context, api *client.Client) error {
		_, err := api.Version(ctx)
		return err
	})
	require.ErrorIs(t, err, nodeops.ErrSilent)
}

// TestWhoseTimeRanOut checks that a node counts as silent only when the limit of the calls has passed, not when the caller's context has ended, nor
// when a limit within the node has passed.
func TestWhoseTimeRanOut(t *testing.T) {
	t.Parallel()
	talosconfig := talosconfigOf(t, secretsOf(t, ours), netip.MustParseAddr("127.0.0.1"))
	waits := func(ctx context.Context, _ *client.Client) error { <-ctx.Done(); return ctx.Err() }
	err := nodeops.AskFor(t.Context(), time.Millisecond, talosconfig, "127.193.77.3", waits)
	require.ErrorIs(t, err, nodeops.ErrSilent)

	all, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err = nodeops.AskFor(all, time.Hour, talosconfig, "127.193.77.3", waits)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, nodeops.ErrSilent)

	err = nodeops.AskFor(t.Context(), time.Hour, talosconfig, "127.193.77.3", func(context.Context, *client.Client) error {
		return status.Error(codes.DeadlineExceeded, "etcd took too long")
	})
	require.EqualError(t, err, "its Talos API: etcd took too long")
	require.NotErrorIs(t, err, nodeops.ErrSilent)
}

// TestATalosThatAnswersSlowly checks that a Talos that has answered the first call does not count as silent.
func TestATalosThatAnswersSlowly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := nodeops.ReadObservation(ctx, &client.Client{MachineClient: prompt{}, COSI: overloaded{}})
	require.EqualError(t, err, "its Talos API answers slowly, and has not said everything within 5s")
	require.NotErrorIs(t, err, nodeops.ErrSilent)
}

// prompt answers at once which release it is.
type prompt struct {
	machineapi.MachineServiceClient
}

// Version implements [machineapi.MachineServiceClient].
func (prompt) Version(context.Context, *emptypb.Empty, ...grpc.CallOption) (*machineapi.VersionResponse, error) {
	return &machineapi.VersionResponse{Messages: []*machineapi.Version{{Version: &machineapi.VersionInfo{Tag: "v1.12.4"}}}}, nil
}

// overloaded lists nothing in time.
type overloaded struct{ state.State }

// List implements [state.State].
func (overloaded) List(ctx context.Context, _ resource.Kind, _ ...state.ListOption) (resource.List, error) {
	<-ctx.Done()
	return resource.List{}, status.FromContextError(ctx.Err()).Err()
}
