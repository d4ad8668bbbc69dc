package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// requireOnly checks that a folder has one file, and that file's content and mode.
func requireOnly(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, string(text))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, mode, info.Mode())
}

func TestWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, atomicfile.Write(path, []byte("one"), 0o600))
	requireOnly(t, path, "one", 0o600)
	require.NoError(t, atomicfile.Write(path, []byte("two"), 0o600))
	requireOnly(t, path, "two", 0o600)
}

func TestReplaceKeepsTheMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.ErrorIs(t, atomicfile.Replace(path, []byte("one")), fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	require.NoError(t, os.Chmod(path, 0o666), "more than a umask leaves")
	require.NoError(t, atomicfile.Replace(path, []byte("two")))
	requireOnly(t, path, "two", 0o666)
}

// TestWriteBesideOverwritesWhatAKilledRunHasLeft, regardless of its mode.
func TestWriteBesideOverwritesWhatAKilledRunHasLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path+".new", []byte("half"), 0o644))
	require.NoError(t, atomicfile.WriteBeside(path, []byte("one"), 0o600))
	requireOnly(t, path, "one", 0o600)
}
