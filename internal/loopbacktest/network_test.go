package loopbacktest_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
)

// TestNoTwoTestsHaveANetwork takes as many as make two alike almost certain without a claim.
func TestNoTwoTestsHaveANetwork(t *testing.T) {
	t.Parallel()
	taken := map[netip.Prefix]bool{}
	for range 800 {
		network := loopbacktest.Network(t)
		require.Equal(t, 24, network.Bits())
		require.False(t, taken[network], network)
		taken[network] = true
	}
}
