package nodeops_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// waitBriefly is WaitUntilReady with time for an answer or two.
func (m *machineUnderTest) waitBriefly(names ...string) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), 20*time.Second)
	defer cancel()
	return nodeops.WaitUntilReady(ctx, talosconfigOf(m.t, secretsOf(m.t, ours), m.address), nodeops.Awaited{Nodes: names})
}

func TestWaitUntilReady(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	err := m.waitBriefly()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "the Kubernetes API does not answer ("+m.address.String()+": its Kubernetes API: it does not answer): "+
		"look at the control planes with `talosctl health`, then run up again; it goes on from here")

	nodes := m.serveKubernetes()
	require.NoError(t, m.waitBriefly(), "the API alone")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.EqualError(t, nodeops.WaitUntilReady(ctx, talosconfigOf(t, secretsOf(t, ours), m.address), nodeops.Awaited{Server: "https://127.193.20.10:6443"}),
		"the Kubernetes API does not answer (https://127.193.20.10:6443: it does not answer): look at the control planes with `talosctl health`, then run up again; it goes on from here",
		"a control plane answers, but not where clients look for it")

	nodes.set(nodeObject(t, "k3s-dev-control-1", true, ""), nodeObject(t, "worker-1", false, ""), nodeObject(t, "stranger", false, ""))
	require.NoError(t, m.waitBriefly("k3s-dev-control-1"))
	require.EqualError(t, m.waitBriefly("k3s-dev-control-1", "worker-1", "worker-2"),
		"Node worker-1 is not Ready (no reason given); Kubernetes has no Node worker-2: "+
			"see that the cluster has a network plugin (kubernetes.cni), then run up again; it goes on from here")

	go func() {
		time.Sleep(time.Second)
		nodes.set(nodeObject(t, "worker-1", true, ""))
	}()
	require.NoError(t, m.waitBriefly("worker-1"), "it becomes so")
}

func TestWaitUntilReadyQuotesNoTalosconfig(t *testing.T) {
	t.Parallel()
	require.Equal(t, nodeops.ErrTalosconfig, nodeops.WaitUntilReady(t.Context(), []byte("made-up: [secret"), nodeops.Awaited{}))
}
