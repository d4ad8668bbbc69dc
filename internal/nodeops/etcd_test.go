package nodeops_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestIsBootstrapped checks each state of one machine: etcd counts only if it answers under our PKI.
func TestIsBootstrapped(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	is := func(credentials nodeops.Credentials) bool {
		t.Helper()
		bootstrapped, err := nodeops.IsBootstrapped(t.Context(), credentials, m.address.String())
		require.NoError(t, err)
		return bootstrapped
	}
	own := credentialsOf(t, bundle, m.address)

	require.False(t, is(own), "in maintenance mode")
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	require.False(t, is(own), "installed")
	m.bootstrap(bundle)
	polltest.Until(t, func() bool { return is(own) }, "bootstrapped")
	require.False(t, is(credentialsOf(t, secretsOf(t, theirs), m.address)), "a cluster under another PKI is not ours to adopt")

	require.NoError(t, m.fleet.PowerOff(vmid))
	require.False(t, is(own), "no answer")
}

func TestIsBootstrappedIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	address := freeAddress(t)
	_, err := nodeops.IsBootstrapped(ctx, credentialsOf(t, secretsOf(t, ours), address), address.String())
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "ask etcd on "+address.String()+" for its members: context canceled")
}

func TestIsBootstrappedQuotesNoCredentials(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	_, err := nodeops.IsBootstrapped(t.Context(), nodeops.Credentials{CA: secret, Certificate: secret, Key: secret}, "127.0.0.1")
	require.EqualError(t, err, "the credentials of the Talos API in the state cannot be read: restore the state from a backup")
}
