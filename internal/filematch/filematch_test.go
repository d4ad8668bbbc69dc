package filematch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/filematch"
)

func TestFilesInFoldersOfAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "site [new]", "[", "a*b?", `back\slash`} {
		folder := filepath.Join(t.TempDir(), name)
		none, err := filematch.In(folder, "*.json")
		require.NoError(t, err, "no folder")
		require.Empty(t, none)
		require.NoError(t, os.Mkdir(folder, 0o700))
		for _, file := range []string{"b.json", "a.json", "a.yaml"} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, file), nil, 0o600))
		}
		found, err := filematch.In(folder, "*.json")
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(folder, "a.json"), filepath.Join(folder, "b.json")}, found)
	}
	_, err := filematch.In(t.TempDir()+"/..", "[")
	require.ErrorIs(t, err, filepath.ErrBadPattern)
}
