package lab_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestALabWithStorageHasANAS starts the lab of an inventory with `storage:`, uses its box through the tool's own connection, and finds
// what was made after a restart.
func TestALabWithStorageHasANAS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, there := range []bool{false, true} {
		d, stop := serveNAS(t, dir)
		fingerprint, err := lab.NASFingerprint(dir, d)
		require.NoError(t, err)
		api := truenas.Connection{Endpoint: d.NASEndpoint(), Fingerprint: fingerprint, Username: "em-infra", APIKey: d.NASKey}
		wanted := truenas.Dataset{Name: "tank/k8s", ShareType: "NFS", Owner: "k3s-dev/k3s-dev"}
		require.NoError(t, api.Do(t.Context(), func(ctx context.Context, c *truenas.Client) error {
			found, err := c.FindDataset(ctx, wanted)
			if err != nil {
				return err
			}
			require.Equal(t, there, found != nil)
			return c.WriteDataset(ctx, wanted, found)
		}))
		stop()
	}
}

// TestTheNASCountsLoginsInTheTimeOfTheLab: without delays, any number of logins is accepted. In real time, the 21st within a minute is refused.
func TestTheNASCountsLoginsInTheTimeOfTheLab(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop := serveNAS(t, dir)
	defer stop()
	fingerprint, err := lab.NASFingerprint(dir, d)
	require.NoError(t, err)
	for range 21 {
		client, err := truenas.Connection{Endpoint: d.NASEndpoint(), Fingerprint: fingerprint, Username: "em-infra", APIKey: d.NASKey}.Open(t.Context())
		require.NoError(t, err)
		require.NoError(t, client.Close())
	}
}

// serveNAS serves the lab in a folder until stop is called.
func serveNAS(t *testing.T, dir string) (d lab.Description, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan lab.Description, 1), make(chan error, 1)
	o := options(t, dir, parse(t, clusterYAML+"storage: {endpoint: \"https://nas.example\", pool: tank, datasets: [{name: k8s}]}\n", nodesYAML))
	o.Ready = func(d lab.Description) { ready <- d }
	go func() { ended <- lab.Serve(ctx, o) }()
	select {
	case d = <-ready:
	case err := <-ended:
		require.NoError(t, err, "the lab ends before it is ready")
	}
	return d, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}
