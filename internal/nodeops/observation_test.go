package nodeops_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

func TestObserve(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	_, err := health.Observe(t.Context(), m.address.String())
	require.Equal(t, nodeops.ErrForeign, err, "in maintenance mode it is of no cluster")
	require.NotErrorIs(t, err, nodeops.ErrSilent, "it answers")

	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	seen, err := health.Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	require.Equal(t, "v1.12.4", seen.Talos)
	require.Equal(t, "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba", seen.Schematic)
	require.Equal(t, "booting", seen.Stage, "etcd waits for its bootstrap")
	require.Contains(t, string(seen.Configuration), "type: controlplane")
	require.Equal(t, "v"+constants.DefaultKubernetesVersion, seen.Kubelet)
	require.Equal(t, "v"+constants.DefaultKubernetesVersion, seen.APIServer)

	m.bootstrap(bundle)
	polltest.Until(t, func() bool {
		seen, err := health.Observe(t.Context(), m.address.String())
		return err == nil && seen.Stage == "running"
	})
}

// TestACertificateThatIsNotValidNowIsSaid covers both certificates: the node's and the client's.
func TestACertificateThatIsNotValidNowIsSaid(t *testing.T) {
	t.Parallel()
	for _, expired := range []string{talos.FaultNodeCertExpired, talos.FaultClientCertExpired} {
		t.Run(expired, func(t *testing.T) {
			t.Parallel()
			m, bundle := powerOn(t, failing(t, fault.Fault{Name: expired})), secretsOf(t, ours)
			m.apply(bundle)
			m.waitFor(talos.StageRunning)
			health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
			for range 50 { // a node that refuses our certificate may end the connection before the client has sent its request
				_, err := health.Observe(t.Context(), m.address.String())
				require.ErrorIs(t, err, nodeops.ErrUntimely)
				require.NotErrorIs(t, err, nodeops.ErrSilent)
			}
		})
	}
}
