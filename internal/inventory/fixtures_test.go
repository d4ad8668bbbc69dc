package inventory_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
)

// Each testdata/invalid-* says in expected.txt, to the letter, why it is refused.
func TestInvalidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range golden.Folders(t, "invalid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := inventory.Load(dir)
			require.Error(t, err)
			require.Nil(t, inv)
			var problems *inventory.Problems
			require.True(t, errors.As(err, &problems), "not a list of problems: %v", err)
			golden.Equal(t, filepath.Join(dir, "expected.txt"), err.Error()+"\n")
		})
	}
}

// Each testdata/valid-* holds the whole effective inventory, defaults marked, in effective.txt.
func TestValidInventories(t *testing.T) {
	t.Parallel()
	for _, dir := range golden.Folders(t, "valid") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			inv, err := inventory.Load(dir)
			require.NoError(t, err)
			effective, err := inv.Effective()
			require.NoError(t, err)
			golden.Equal(t, filepath.Join(dir, "effective.txt"), inv.Summary()+"\n---\n"+string(effective.Cluster)+"---\n"+string(effective.Nodes))
		})
	}
}
