package inventory_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
)

// FuzzParse: any files give either an inventory that can be printed and loaded again, or a list of problems. Memory is bounded,
// so nothing is expanded without end. The seeds are all fixtures.
func FuzzParse(f *testing.F) {
	for _, prefix := range []string{"valid", "invalid"} {
		for _, dir := range golden.Folders(f, prefix) {
			f.Add(seed(f, dir, inventory.ClusterFile), seed(f, dir, inventory.NodesFile))
		}
	}
	f.Fuzz(func(t *testing.T, cluster, nodes []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		inv, err := inventory.Parse("fuzz", cluster, nodes)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
		if err == nil {
			requireSame(t, inv, reloaded(t, inv))
			return
		}
		require.Nil(t, inv)
		var problems *inventory.Problems
		require.True(t, errors.As(err, &problems), "not a list of problems: %v", err)
		require.NotEmpty(t, *problems)
		for _, problem := range *problems {
			require.NotEmpty(t, problem.What)
			require.NotEmpty(t, problem.Do)
			require.GreaterOrEqual(t, problem.Line, 0)
		}
	})
}

// seed returns a file of a fixture, nothing where it has none.
func seed(t testing.TB, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return data
}
