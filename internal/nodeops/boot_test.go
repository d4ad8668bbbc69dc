package nodeops_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

func TestWaitUntilBooted(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	node := rolling.Node{Name: "k3s-dev-control-1", Address: m.address, ControlPlane: true}
	require.NoError(t, health.WaitUntilBooted(t.Context(), node), "maintenance mode is an answer, too")
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	require.NoError(t, health.WaitUntilBooted(t.Context(), node))

	require.NoError(t, m.fleet.PowerOff(vmid))
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupt signal received")) })
	require.EqualError(t, health.WaitUntilBooted(ctx, node), "waiting for node k3s-dev-control-1: interrupt signal received")
}
