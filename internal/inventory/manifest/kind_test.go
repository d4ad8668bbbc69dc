package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// TestTheKindFollowsFromTheFile: each kind by any of its files, and a folder without one is that of a platform.
func TestTheKindFollowsFromTheFile(t *testing.T) {
	t.Parallel()
	for files, want := range map[string]manifest.Kind{
		"": manifest.Platform, "cluster.yaml": manifest.Platform, "nodes.yaml": manifest.Platform, "cluster.yaml nodes.yaml": manifest.Platform,
		"hosts.yaml": manifest.Hosts, "hosts.yaml secrets.sops.yaml": manifest.Hosts, "systems.yaml": manifest.Systems,
	} {
		kind, err := manifest.KindOf(folder(t, files))
		require.NoError(t, err)
		require.Equal(t, want, kind, files)
	}
}

func TestTwoKindsInOneFolderAreRefused(t *testing.T) {
	t.Parallel()
	dir := folder(t, "hosts.yaml nodes.yaml")
	_, err := manifest.KindOf(dir)
	require.ErrorAs(t, err, new(*manifest.Problems))
	require.Equal(t, `DIR: holds the inventories of two kinds (a stack is of one kind, by the file in its folder: `+manifest.Choices()+`; got "nodes.yaml and hosts.yaml"): move one of them to the folder of another stack
1 problem in 1 file; nothing was touched`, strings.ReplaceAll(err.Error(), dir, "DIR"))
}

// folder returns a new folder with empty files.
func folder(t *testing.T, files string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields(files) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	return dir
}
