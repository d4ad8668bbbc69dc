package lab_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

// TestAStoppedLabKeepsItsAddresses starts and stops a lab in three projects with one registry: each has addresses of its own, and
// a deleted one is forgotten.
func TestAStoppedLabKeepsItsAddresses(t *testing.T) {
	t.Parallel()
	registry := filepath.Join(t.TempDir(), "labs")
	inAProject := func() string {
		dir := labDir(t)
		o := options(t, dir, parse(t, clusterYAML, nodesYAML))
		o.Registry = registry
		serveOnce(t, o)
		return dir
	}
	addressesOf := func(dir string) []string {
		d, err := lab.ReadDescription(dir)
		require.NoError(t, err)
		return []string{d.Proxmox.String(), d.Factory.String(), d.Network.String()}
	}
	requireApart := func(one, other string) {
		for i, address := range addressesOf(one) {
			require.NotEqual(t, address, addressesOf(other)[i])
		}
	}

	first, second := inAProject(), inAProject()
	requireApart(first, second)
	require.NoError(t, os.RemoveAll(second))
	unrelated := filepath.Join(registry, "notes")
	require.NoError(t, os.WriteFile(unrelated, []byte("/nowhere"), 0o600))
	requireApart(first, inAProject())

	files, err := filepath.Glob(filepath.Join(registry, "*.lab"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.FileExists(t, unrelated, "it is nobody's entry")
}

// TestALabTakesAnotherOnesNetworkOnlyAtTheEnd checks that labs that are stopped cannot make a new one impossible.
func TestALabTakesAnotherOnesNetworkOnlyAtTheEnd(t *testing.T) {
	t.Parallel()
	registry, other, dir := t.TempDir(), labDir(t), labDir(t)
	d := described(t)
	d.Network = netip.MustParsePrefix("127.0.0.0/8")
	require.NoError(t, d.Write(other))
	require.NoError(t, os.WriteFile(filepath.Join(registry, "other.lab"), []byte(other), 0o600))
	o := options(t, dir, parse(t, clusterYAML, nodesYAML))
	o.Registry = registry
	serveOnce(t, o)
	made, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	require.True(t, d.Network.Overlaps(made.Network))
}
