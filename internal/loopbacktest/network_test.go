package loopbacktest_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
)

// TestNoTwoTestsHaveANetwork takes so many networks that, without a claim, two of them would almost certainly be the same.
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
