package nodeops_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// TestAMachineThatIsNoNodeYetIsNotWaitedFor: its creation failed at its start or before, and the next run changes it before
// it sends a configuration.
func TestAMachineThatIsNoNodeYetIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	own := nodeObject(t, "k3s-dev-control-1", true, boot)
	list.set(own)

	fresh := powerOn(t, func(_ *talos.Config, h *talos.Hardware) { h.Name = "worker-1" })
	newcomer := rolling.Node{Name: "worker-1", Address: fresh.address}
	absent := rolling.Node{Name: "worker-2", Address: freeAddress(t)}
	health := m.health()
	health.Nodes = []rolling.Node{m.member(), newcomer, absent}
	runs := health.Runs
	health.Runs = func(ctx context.Context, node rolling.Node) (bool, error) {
		if node.Name == absent.Name {
			return false, nil
		}
		return runs(ctx, node)
	}
	waitsFor := func(change rolling.Change) bool {
		t.Helper()
		terms, err := health.Spare(t.Context(), change, nil)
		require.NoError(t, err)
		return terms.Back != nil
	}

	require.False(t, waitsFor(rolling.Change{Node: newcomer}), "it waits for its configuration")
	require.False(t, waitsFor(rolling.Change{Node: absent, Adds: true}), "it is off")
	require.True(t, waitsFor(rolling.Change{Node: newcomer, Configuration: []byte("{}")}), "it is configured")
	require.True(t, waitsFor(rolling.Change{Node: m.member(), Reboots: true}))

	list.set(own, nodeObject(t, absent.Name, false, ""))
	require.True(t, waitsFor(rolling.Change{Node: absent, Adds: true}), "it was a node")
	twin := absent
	twin.Address = m.address
	require.True(t, waitsFor(rolling.Change{Node: twin}), "it is a member of etcd")
}

// TestAMachineOfWhichNobodyKnowsIsWaitedFor: the API server that knows whether it has a Node does not answer.
func TestAMachineOfWhichNobodyKnowsIsWaitedFor(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	m.serveAPI(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	health := m.health()
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return false, nil }
	terms, err := health.Spare(t.Context(), rolling.Change{Node: rolling.Node{Name: "worker-1", Address: freeAddress(t)}, Adds: true}, nil)
	require.NoError(t, err)
	require.NotNil(t, terms.Back)
}
