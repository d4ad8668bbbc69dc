package nodeops_test

import (
	"context"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestAnotherTokenTakesABoot: Talos takes another machine.token at a boot only, and a node that has it is not rebooted again.
func TestAnotherTokenTakesABoot(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	node := rolling.Node{Name: "k3s-dev-control-1", Address: m.address, ControlPlane: true}
	lane := rolling.NewLane(health, rolling.Options{})
	const token = "abcdef.0123456789abcdef"
	boot, _ := bootAndConfiguration(t, health, node)
	change := func(c *v1alpha1.Config) { c.MachineConfig.MachineToken = token }

	require.NoError(t, health.RollConfiguration(t.Context(), lane, node, change))
	var now string
	polltest.Until(t, func() bool {
		return nodeops.Ask(t.Context(), health.Talosconfig, m.address.String(), func(ctx context.Context, api *client.Client) (err error) {
			now, err = nodeops.BootID(ctx, api)
			return err
		}) == nil && now != boot
	}, "it reboots")
	m.waitFor(talos.StageRunning)
	_, running := bootAndConfiguration(t, health, node)
	require.Equal(t, token, running.MachineConfig.MachineToken)

	require.NoError(t, health.RollConfiguration(t.Context(), lane, node, change))
	same, _ := bootAndConfiguration(t, health, node)
	require.Equal(t, now, same)
}

func TestANodeThatDoesNotAnswerIsNotRolled(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, secretsOf(t, ours), m.address)}
	err := health.RollConfiguration(t.Context(), rolling.NewLane(health, rolling.Options{}), rolling.Node{Name: "k3s-dev-control-1", Address: m.address}, func(*v1alpha1.Config) {})
	require.ErrorIs(t, err, nodeops.ErrForeign)
	require.ErrorContains(t, err, "k3s-dev-control-1: ")
}
