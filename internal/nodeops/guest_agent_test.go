package nodeops_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// withAgent adds QEMU's guest agent to the machine's image, and a port for it.
func withAgent(c *talos.Config, hardware *talos.Hardware) {
	hardware.AgentPort = true
	c.Installer = func(reference string) (talos.Release, error) {
		release, err := talos.ReleaseFromReference(reference)
		release.Extensions = []talos.Extension{{Name: "qemu-guest-agent", Version: release.Version}}
		return release, err
	}
}

// TestTheGuestAgentIsStopped checks that the agent stops, so that the host uses the power button: Talos then shuts down even
// without a Kubernetes API.
func TestTheGuestAgentIsStopped(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t, withAgent), secretsOf(t, ours)
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	_, answers := m.fleet.AskAgent(vmid)
	require.True(t, answers)

	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	node := rolling.Node{Name: "k3s-dev-control-1", Address: m.address, ControlPlane: true}
	require.NoError(t, health.StopGuestAgent(t.Context(), node))
	_, answers = m.fleet.AskAgent(vmid)
	require.False(t, answers)
	require.NoError(t, health.StopGuestAgent(t.Context(), node), "it is stopped already")
}

// TestNoGuestAgentToStop checks that an image without the agent, or a machine that is off, is no error.
func TestNoGuestAgentToStop(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	health := nodeops.Health{
		Talosconfig: talosconfigOf(t, bundle, m.address),
		Runs:        func(context.Context, rolling.Node) (bool, error) { return false, nil },
	}
	node := rolling.Node{Name: "k3s-dev-control-1", Address: m.address, ControlPlane: true}
	require.NoError(t, health.StopGuestAgent(t.Context(), node))
	require.NoError(t, m.fleet.PowerOff(vmid))
	require.NoError(t, health.StopGuestAgent(t.Context(), node))

	health.Runs = func(context.Context, rolling.Node) (bool, error) { return true, nil }
	require.ErrorContains(t, health.StopGuestAgent(t.Context(), node), "its Talos API: connection error")
}
