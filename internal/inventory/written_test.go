package inventory_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
)

// TestLoadWritten: the effective inventory of a rehearsal is read as it was, although its addresses are refused in an inventory that a user writes.
// One that cannot be decoded is an error.
func TestLoadWritten(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load("testdata/valid-minimal")
	require.NoError(t, err)
	moved, err := inv.Rebase(netip.MustParsePrefix("127.20.20.0/24"))
	require.NoError(t, err)
	effective, err := moved.Effective()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, inventory.ClusterFile), effective.Cluster, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, inventory.NodesFile), effective.Nodes, 0o600))

	_, err = inventory.Load(dir)
	require.ErrorContains(t, err, "is no network for machines")
	read, err := inventory.LoadWritten(dir)
	require.NoError(t, err)
	require.Equal(t, moved.Nodes, read.Nodes)
	require.Equal(t, moved.Cluster.Network.CIDR, read.Cluster.Network.CIDR)

	require.NoError(t, os.Remove(filepath.Join(dir, inventory.NodesFile)))
	_, err = inventory.LoadWritten(dir)
	require.ErrorContains(t, err, "no such file")
}
