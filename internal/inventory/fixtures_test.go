package inventory_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
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
			inv, err := inventory.Load(dir)
			require.Error(t, err)
			require.Nil(t, inv)
			var problems *inventory.Problems
			require.True(t, errors.As(err, &problems), "not a list of problems: %v", err)
			golden(t, filepath.Join(dir, "expected.txt"), err.Error()+"\n")
		})
	}
}

// Each testdata/valid-* holds the whole effective inventory, defaults marked, in effective.txt.
func TestValidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range fixtures(t, "valid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := inventory.Load(dir)
			require.NoError(t, err)
			effective, err := inv.Effective()
			require.NoError(t, err)
			golden(t, filepath.Join(dir, "effective.txt"), inv.Summary()+"\n---\n"+string(effective.Cluster)+"---\n"+string(effective.Nodes))
		})
	}
}
