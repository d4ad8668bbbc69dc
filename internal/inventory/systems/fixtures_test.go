package systems_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
)

var update = flag.Bool("update", false, "write what the tests expect")

// fixtures returns the folders of testdata whose names begin with the prefix.
func fixtures(t testing.TB, prefix string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join("testdata", prefix+"-*"))
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	return folders
}

// golden holds text against a file, or writes the file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")))
}

// Each testdata/invalid-* says in expected.txt, to the letter, why it is refused.
func TestInvalidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range fixtures(t, "invalid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := systems.Load(dir)
			require.Nil(t, inv)
			require.ErrorAs(t, err, new(*manifest.Problems))
			golden(t, filepath.Join(dir, "expected.txt"), err.Error()+"\n")
		})
	}
}

// Each testdata/valid-* holds the whole effective inventory, defaults marked, in effective.txt. Loading that gives the same.
func TestValidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range fixtures(t, "valid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := systems.Load(dir)
			require.NoError(t, err)
			files, err := inv.Files()
			require.NoError(t, err)
			require.Len(t, files, 1)
			golden(t, filepath.Join(dir, "effective.txt"), inv.Summary()+"\n---\n"+string(files[0].Text))
			again := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(again, manifest.SystemsFile), files[0].Text, 0o600))
			reloaded, err := systems.Load(again)
			require.NoError(t, err)
			require.Equal(t, inv.File, reloaded.File)
		})
	}
}
