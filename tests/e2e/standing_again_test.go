package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2EAStandingClusterIsAsItWasBorn: the changes of one test to a standing cluster do not affect the next test.
func TestE2EAStandingClusterIsAsItWasBorn(t *testing.T) {
	extended(t)
	skipIfShort(t)
	t.Parallel()
	l := lanes.take(t, pair)
	returned := 0
	for _, name := range []string{"one that loses its worker", "the next"} {
		t.Run(name, func(t *testing.T) {
			r := l.lend(t, func() { returned++ })
			r.mustRun(0, "preview", "--lab")
			r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
			require.Equal(t, 2, r.clones(), "those of its birth")
			r.deleteOnHost(102)
			r.edit("nodes.yaml", "vmid: 102", "vmid: 112")
		})
	}
	if returned == 2 {
		lanes.giveBack(l)
	}
}
