package discovery_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// TestAnInventoryAfterAKill: the next run writes both files regardless of what a killed run has left, and overwrites no file that has another
// content.
func TestAnInventoryAfterAKill(t *testing.T) {
	t.Parallel()
	files := discovery.Files{Cluster: []byte("name: home\n"), Nodes: []byte("nodes: []\n")}
	for _, test := range []struct {
		name    string
		left    map[string]string
		refused string
	}{
		{"before the first", nil, ""},
		{"in the first", map[string]string{"cluster.yaml.new": "name: h"}, ""},
		{"after the first", map[string]string{"cluster.yaml": "name: home\n"}, ""},
		{"in the second", map[string]string{"cluster.yaml": "name: home\n", "nodes.yaml.new": ""}, ""},
		{"another cluster.yaml", map[string]string{"cluster.yaml": "name: other\n"}, "cluster.yaml"},
		{"another nodes.yaml", map[string]string{"nodes.yaml": "nodes:\n"}, "nodes.yaml"},
		{"both", map[string]string{"cluster.yaml": "name: home\n", "nodes.yaml": "nodes: []\n"}, "cluster.yaml"},
	} {
		dir := filepath.Join(t.TempDir(), "home")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range test.left {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		inventory := discovery.Folder{Dir: dir}
		err := inventory.Check()
		if err == nil {
			_, err = inventory.Write(files)
		}
		if test.refused != "" {
			require.EqualError(t, err, filepath.Join(dir, test.refused)+" exists, and is not overwritten: leave --write-inventory out to adopt what it describes, or move it away", test.name)
			require.Equal(t, test.left, texts(t, dir), test.name)
			continue
		}
		require.NoError(t, err, test.name)
		require.Equal(t, map[string]string{"cluster.yaml": "name: home\n", "nodes.yaml": "nodes: []\n"}, texts(t, dir), test.name)
	}
}

// texts returns the files of a folder by their names.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(text)
	}
	return found
}
