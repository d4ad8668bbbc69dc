package nodeops_test

import (
	"context"
	"testing"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// TestAConfigurationIsChangedWithoutAReboot: the node runs with the change when the call returns, the rest of its configuration is as it
// was, and it is not applied again.
func TestAConfigurationIsChangedWithoutAReboot(t *testing.T) {
	t.Parallel()
	m, bundle, others := powerOn(t), secretsOf(t, ours), secretsOf(t, theirs)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	node := rolling.Node{Name: "k3s-dev-control-1", Address: m.address}
	boot, before := bootAndConfiguration(t, health, node)

	change := func(c *v1alpha1.Config) {
		c.MachineConfig.MachineAcceptedCAs = []*x509.PEMEncodedCertificate{{Crt: others.Certs.OS.Crt}}
	}
	for _, want := range []bool{true, false} {
		isChanged, err := health.Configure(t.Context(), node, change)
		require.NoError(t, err)
		require.Equal(t, want, isChanged)
	}
	same, after := bootAndConfiguration(t, health, node)
	require.Equal(t, boot, same)
	change(before)
	require.Equal(t, before, after)
}

func TestANodeThatDoesNotAnswerIsNotConfigured(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, secretsOf(t, ours), m.address)}
	isChanged, err := health.Configure(t.Context(), rolling.Node{Name: "k3s-dev-control-1", Address: m.address}, func(*v1alpha1.Config) {})
	require.ErrorIs(t, err, nodeops.ErrForeign)
	require.False(t, isChanged)
}

func bootAndConfiguration(t *testing.T, health nodeops.Health, node rolling.Node) (boot string, running *v1alpha1.Config) {
	t.Helper()
	require.NoError(t, nodeops.Ask(t.Context(), health.Talosconfig, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
		if boot, err = nodeops.BootID(ctx, api); err != nil {
			return err
		}
		provider, err := nodeops.RunningConfiguration(ctx, api)
		if err == nil {
			running = provider.RawV1Alpha1().DeepCopy()
		}
		return err
	}))
	return boot, running
}
