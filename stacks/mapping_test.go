package stacks_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/stacks"
)

// Settings that only later runs read are in no resource, so no plan shows them.
func TestHowNodesAreUpgraded(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		fixture, canary string
		pause, minReady time.Duration
		unavailable     int
	}{
		{"minimal", "", 0, 10 * time.Second, 1},
		{"every-key", "gpu-1", 5 * time.Minute, 30 * time.Second, 1}, // 25 % of one worker
		{"talos-1-13", "w-1", 0, 10 * time.Second, 2},
	} {
		inv, err := inventory.Load(filepath.Join("..", "internal", "inventory", "testdata", "valid-"+test.fixture))
		require.NoError(t, err)
		args := stacks.ClusterArgs(inv)
		require.Equal(t, test.canary, args.Canary, test.fixture)
		require.Equal(t, test.pause, args.CanaryPause, test.fixture)
		require.Equal(t, test.minReady, args.MinReady, test.fixture)
		require.Equal(t, test.unavailable, args.MaxUnavailable, test.fixture)
	}
}
