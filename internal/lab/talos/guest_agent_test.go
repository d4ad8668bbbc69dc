package talos_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// withAgent adds QEMU's guest agent to the images.
func withAgent(c *talos.Config) {
	c.Installer = func(reference string) (talos.Release, error) {
		release, err := talos.ReleaseFromReference(reference)
		release.Extensions = []talos.Extension{{Name: "qemu-guest-agent", Version: release.Version}}

		return release, err
	}
}

// TestGuestAgentRuns if the image has it and the machine has its port, even in maintenance mode.
func TestGuestAgentRuns(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		image   func(*talos.Config)
		port    bool
		answers bool
		service string
	}{
		"in the image, with a port":    {image: withAgent, port: true, answers: true, service: "Running"},
		"in the image, without a port": {image: withAgent, service: "Waiting"},
		"not in the image":             {image: func(*talos.Config) {}, port: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, test.image)
			l.agentPort = test.port
			l.powerOn(102)
			l.waitStage(102, talos.StageMaintenance)

			_, answers := l.fleet.AskAgent(102)
			require.Equal(t, test.answers, answers)

			c := l.controlPlaneUp("k3s-dev")
			info, answers := l.fleet.AskAgent(101)
			require.Equal(t, test.answers, answers)

			state, _ := c.serviceState(101, "ext-qemu-guest-agent")
			require.Equal(t, test.service, state)

			if answers {
				require.NotEmpty(t, info.KernelRelease)
				require.Equal(t, "eth0", info.Links[1].Name)
				require.NotEmpty(t, info.Links[1].Addresses)
			}
		})
	}
}

// TestGuestAgentIsStopped by the Talos API, which allows it; the next boot starts it again.
func TestGuestAgentIsStopped(t *testing.T) {
	t.Parallel()

	l := newLab(t, withAgent)
	l.agentPort = true
	c := l.controlPlaneUp("k3s-dev")
	_, err := c.admin(101).ServiceStop(t.Context(), "ext-qemu-guest-agent")
	require.NoError(t, err)

	_, answers := l.fleet.AskAgent(101)
	require.False(t, answers)

	_, err = c.admin(101).ServiceStart(t.Context(), "ext-qemu-guest-agent")
	require.NoError(t, err)

	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultAgentSilent, VMID: 101, Times: 1}))

	_, answers = l.fleet.AskAgent(101)
	require.False(t, answers)

	_, answers = l.fleet.AskAgent(101)
	require.True(t, answers)
}

// TestShutdownByAgentNeedsKubernetes: it drains first, and fails if no Kubernetes API answers. The node then reboots, and the
// power button still works.
func TestShutdownByAgentNeedsKubernetes(t *testing.T) {
	t.Parallel()

	api := &pods{nodes: map[int]talos.KubernetesNode{}, dead: true}
	l := newLab(t, withAgent, func(c *talos.Config) { c.Kubernetes = api })
	l.agentPort = true
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "kubelet")

	boot := c.bootID(101)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	ended := make(chan error, 1)
	go func() { ended <- l.fleet.ShutdownByAgent(ctx, 101) }()
	c.waitNewBoot(101, boot)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	l.waitStage(101, talos.StageRunning)

	require.NoError(t, l.fleet.Shutdown(t.Context(), 101))
	require.Equal(t, talos.StageOff, l.node(101).Stage)
}
