package recoverykit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// TestFilesBehindLinksAreInAKit: what they point to may be on this machine alone.
func TestFilesBehindLinksAreInAKit(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), t.TempDir()
	for _, file := range []string{filepath.Join(folder, "cluster.yaml"), filepath.Join(elsewhere, "nodes.yaml"), filepath.Join(elsewhere, "charts", "values.yaml")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	for name, target := range map[string]string{
		"nodes.yaml": filepath.Join(elsewhere, "nodes.yaml"), "charts": filepath.Join(elsewhere, "charts"), ".#lock": "user@computer", "itself": ".",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(folder, name)))
	}
	found, err := recoverykit.Below(folder)
	require.NoError(t, err)
	require.Equal(t, recoverykit.Listing{Files: []string{"charts/values.yaml", "cluster.yaml", "nodes.yaml"}, LeftOut: []string{".#lock", "itself"}}, found)
	_, err = recoverykit.Below(filepath.Join(folder, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestLinksOutOfAFolder: one to a folder above it would bring in all that is there, such as the state, and one to itself leads nowhere.
func TestLinksOutOfAFolder(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	folder := filepath.Join(project, "stacks", "home")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "patches"), 0o700))
	for _, name := range []string{filepath.Join(project, "secret"), filepath.Join(project, "stacks", "other"), filepath.Join(folder, "nodes.yaml")} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	for name, target := range map[string]string{"project": project, "stacks": "..", "patches/up": "../..", "loop": "loop"} {
		require.NoError(t, os.Symlink(target, filepath.Join(folder, name)))
	}
	behind := filepath.Join(t.TempDir(), "inventory")
	require.NoError(t, os.Symlink(folder, behind))
	for _, at := range []string{folder, behind} {
		found, err := recoverykit.Below(at)
		require.NoError(t, err)
		require.Equal(t, recoverykit.Listing{Files: []string{"nodes.yaml"}, LeftOut: []string{"loop", "patches/up", "project", "stacks"}}, found)
	}
}
