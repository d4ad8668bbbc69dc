package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

func TestBackendIsThatOfPulumiYAML(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, project, backend string }{
		{"none", "name: em-infra\n", "file://ROOT/.state"},
		{"relative folder", "name: em-infra\nbackend: {url: file://./states/here}\n", "file://ROOT/states/here"},
		{"absolute folder", "name: em-infra\nbackend:\n  url: file:///srv/state\n", "file:///srv/state"},
		{"bucket", "name: em-infra\nbackend:\n  url: s3://states?region=eu-central-1\n", "s3://states?region=eu-central-1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.yaml"), []byte(test.project), 0o600))
			w, err := workspace.Real(root, "k3s-dev", "")
			require.NoError(t, err)
			backend := strings.ReplaceAll(test.backend, "ROOT", root)
			require.Equal(t, backend, w.Backend)
			if folder, isFile := strings.CutPrefix(backend, "file://"); isFile {
				require.Equal(t, folder, w.StateFolder())
			} else {
				require.Empty(t, w.StateFolder())
			}
			require.Equal(t, w.Backend, w.Environment()["PULUMI_BACKEND_URL"])
		})
	}
}

func TestMoveBackendLeavesTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, before, after string }{
		{"none yet", "name: em-infra\n", "name: em-infra\nbackend:\n  url: s3://states\n"},
		{
			"one with comments",
			"name: em-infra\nbackend:\n  # Relative to this file.\n  url: file://./.state # here\nconfig: {}\n",
			"name: em-infra\nbackend:\n  # Relative to this file.\n  url: s3://states # here\nconfig: {}\n",
		},
		{"quoted", "backend:\n  url: \"file://./.state\"\n", "backend:\n  url: \"s3://states\"\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "Pulumi.yaml")
			require.NoError(t, os.WriteFile(file, []byte(test.before), 0o640)) //nolint:gosec // the mode is part of the test
			w, err := workspace.Real(filepath.Dir(file), "k3s-dev", "")
			require.NoError(t, err)

			require.NoError(t, w.MoveBackend("s3://states"))
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, test.after, string(text))
			require.Equal(t, "s3://states", w.Backend)
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode())
			left, err := os.ReadDir(filepath.Dir(file))
			require.NoError(t, err)
			require.Len(t, left, 1)
		})
	}
}

func TestMoveBackendRefusesAFormThatItCannotKeep(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "Pulumi.yaml")
	require.NoError(t, os.WriteFile(file, []byte("backend: {url: file://./.state}\n"), 0o600))
	w, err := workspace.Real(filepath.Dir(file), "k3s-dev", "")
	require.NoError(t, err)
	require.EqualError(t, w.MoveBackend("s3://states"), file+": backend.url is not on one line of its own: write it as `url: …` below `backend:`")
	require.Equal(t, "file://"+filepath.Join(w.Root, ".state"), w.Backend, "nothing has moved")
}

func TestAtWritesNothing(t *testing.T) {
	t.Parallel()
	w, err := workspace.Real(t.TempDir(), "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, "file://"+filepath.Join(w.Root, "elsewhere"), w.At("file://./elsewhere").Backend)
	require.Equal(t, "file://"+filepath.Join(w.Root, ".state"), w.Backend)
}

func TestSecretsProviderIsThatOfTheStackFile(t *testing.T) {
	t.Parallel()
	w, err := workspace.Real(t.TempDir(), "k3s-dev", "")
	require.NoError(t, err)
	provider, err := w.SecretsProvider()
	require.NoError(t, err)
	require.Empty(t, provider)

	require.NoError(t, os.WriteFile(w.StackFile(), []byte("secretsprovider: awskms://alias/states\n"), 0o600))
	provider, err = w.SecretsProvider()
	require.NoError(t, err)
	require.Equal(t, "awskms://alias/states", provider)
}
