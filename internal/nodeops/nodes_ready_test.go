package nodeops_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// waitUntilReady calls WaitUntilReady without a limit.
func (m *machineUnderTest) waitUntilReady(names ...string) error {
	return nodeops.WaitUntilReady(m.t.Context(), talosconfigOf(m.t, secretsOf(m.t, ours), m.address), nodeops.Awaited{Nodes: names})
}

// waitInVain calls WaitUntilReady with a context that ends as soon as the wait reports the given state.
func (m *machineUnderTest) waitInVain(state string, awaited nodeops.Awaited) error {
	ctx, end := ending(m.t.Context())
	awaited.Say = func(text string) {
		if text == state {
			end()
		}
	}
	return nodeops.WaitUntilReady(ctx, talosconfigOf(m.t, secretsOf(m.t, ours), m.address), awaited)
}

// endless is a context whose deadline passes when over is closed.
type endless struct {
	context.Context
	over chan struct{}
}

func ending(ctx context.Context) (context.Context, func()) {
	e := endless{ctx, make(chan struct{})}
	return e, sync.OnceFunc(func() { close(e.over) })
}

func (e endless) Done() <-chan struct{} { return e.over }

func (e endless) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestWaitUntilReady(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	err := m.waitInVain("the Kubernetes API does not answer yet", nodeops.Awaited{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "the Kubernetes API does not answer ("+m.address.String()+": its Kubernetes API: it does not answer): "+
		"look at the control planes with `talosctl health`, then run up again; it goes on from here")

	nodes := m.serveKubernetes()
	require.NoError(t, m.waitUntilReady(), "the API alone")
	require.EqualError(t, m.waitInVain("no answer at https://127.193.20.10:6443, where clients look", nodeops.Awaited{Server: "https://127.193.20.10:6443"}),
		"the Kubernetes API does not answer (https://127.193.20.10:6443: it does not answer): look at the control planes with `talosctl health`, then run up again; it goes on from here",
		"a control plane answers, but not where clients look for it")

	nodes.set(nodeObject(t, "k3s-dev-control-1", true, ""), nodeObject(t, "worker-1", false, ""), nodeObject(t, "stranger", false, ""))
	require.NoError(t, m.waitUntilReady("k3s-dev-control-1"))
	require.EqualError(t, m.waitInVain("not Ready: worker-1, worker-2", nodeops.Awaited{Nodes: []string{"k3s-dev-control-1", "worker-1", "worker-2"}}),
		"Node worker-1 is not Ready (no reason given); Kubernetes has no Node worker-2: "+
			"see that the cluster has a network plugin (kubernetes.cni), then run up again; it goes on from here")

	awaited := nodeops.Awaited{Nodes: []string{"worker-1"}, Say: func(text string) {
		if text == "not Ready: worker-1" {
			nodes.set(nodeObject(t, "worker-1", true, ""))
		}
	}}
	require.NoError(t, nodeops.WaitUntilReady(t.Context(), talosconfigOf(t, secretsOf(t, ours), m.address), awaited), "it becomes so")
}

// TestAnAPIWithAnotherCertificate answers, so the error must not send anyone to look for a dead one.
func TestAnAPIWithAnotherCertificate(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	m.serveAPIUnder(secretsOf(t, theirs), http.NotFoundHandler())
	_, err := nodeops.ReachKubernetes(t.Context(), talosconfigOf(t, secretsOf(t, ours), m.address))
	require.ErrorContains(t, err, m.address.String()+": its Kubernetes API: its certificate is not accepted (x509: certificate signed by unknown authority")
}

func TestWaitUntilReadyQuotesNoTalosconfig(t *testing.T) {
	t.Parallel()
	require.Equal(t, nodeops.ErrTalosconfig, nodeops.WaitUntilReady(t.Context(), []byte("made-up: [secret"), nodeops.Awaited{}))
}
