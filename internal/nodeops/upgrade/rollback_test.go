package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

// TestRollback goes back once: a second one goes forward. A node that was never upgraded is left as it is.
func TestRollback(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	node := rolling.Node{Name: nameOf(first), Address: c.Address(first), ControlPlane: true}
	health := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: []rolling.Node{node}}

	_, _, err := health.Rollback(t.Context(), node)
	var untouched *nodeops.UntouchedError
	require.ErrorAs(t, err, &untouched)
	require.EqualError(t, err, "control-1 is not rolled back, because there is no other release on its disk: it was not upgraded since Talos was installed; set talos.version to bring another release to it, and run `em-infra up`")

	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	c.waitVotes(first)
	old, now := nodeops.Release{Version: "v1.12.4", Schematic: plain}, nodeops.Release{Version: "v1.12.11", Schematic: plain}
	before, after, err := health.Rollback(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, []nodeops.Release{now, old}, []nodeops.Release{before, after})
	before, after, err = health.Rollback(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, []nodeops.Release{old, now}, []nodeops.Release{before, after})
}
