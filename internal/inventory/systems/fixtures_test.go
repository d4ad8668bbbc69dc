package systems_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

// Each testdata/invalid-* says in expected.txt, to the letter, why it is refused.
func TestInvalidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range golden.Folders(t, "invalid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := systems.Load(dir)
			require.Nil(t, inv)
			require.ErrorAs(t, err, new(*manifest.Problems))
			golden.Equal(t, filepath.Join(dir, "expected.txt"), err.Error()+"\n")
		})
	}
}

// Each testdata/valid-* holds the whole effective inventory, defaults marked, in effective.txt. Loading that gives the same.
func TestValidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range golden.Folders(t, "valid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := systems.Load(dir)
			require.NoError(t, err)
			files, err := inv.Files()
			require.NoError(t, err)
			require.Len(t, files, 1)
			golden.Equal(t, filepath.Join(dir, "effective.txt"), inv.Summary()+"\n---\n"+string(files[0].Text))
			again := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(again, manifest.SystemsFile), files[0].Text, 0o600))
			reloaded, err := systems.Load(again)
			require.NoError(t, err)
			require.Equal(t, inv.File, reloaded.File)
		})
	}
}
