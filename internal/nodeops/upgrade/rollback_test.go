package upgrade_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
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

// TestAnOrderWhoseAnswerIsLost is followed if the node goes down: a second rollback would go forward again. If the order has not reached the node,
// the error does not claim to know what the node runs.
func TestAnOrderWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	node := rolling.Node{Name: nameOf(first), Address: c.Address(first), ControlPlane: true}
	health := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: []rolling.Node{node}}
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	c.waitVotes(first)

	lost := talos.Point{VMID: first, Name: machine.MachineService_Rollback_FullMethodName, Done: true}
	c.installations.lose(lost)
	_, after, err := health.Rollback(t.Context(), node)
	require.NoError(t, err)
	require.Equal(t, nodeops.Release{Version: "v1.12.4", Schematic: plain}, after)

	lost.Name = machine.MachineService_Reboot_FullMethodName
	c.installations.lose(lost)
	before, err := nodeops.LookAt(t.Context(), c.Talosconfig(), node.Address.String())
	require.NoError(t, err)
	require.NoError(t, health.Reboot(t.Context(), node))
	now, err := nodeops.LookAt(t.Context(), c.Talosconfig(), node.Address.String())
	require.NoError(t, err)
	require.NotEqual(t, before.Boot, now.Boot)

	c.installations.lose(talos.Point{VMID: first, Name: machine.MachineService_Rollback_FullMethodName})
	_, _, err = health.Rollback(t.Context(), node)
	require.ErrorAs(t, err, new(*nodeops.UntouchedError))
	require.EqualError(t, err, "control-1 is not rolled back (the connection broke before its answer, and it still runs as before after 15 s): a second rollback goes forward again, so see with `em-infra status` which release it runs before you try again")
}
