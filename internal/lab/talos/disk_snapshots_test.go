package talos_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestDisksGoBack takes snapshots of the disk of a blank and of an installed machine, and restores both.
func TestDisksGoBack(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	blank := []string{l.hardware(101).Disks[0].ID}
	require.NoError(t, l.fleet.SnapshotDisks(blank, "blank"))
	l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.fleet.SnapshotDisks(blank, "installed"))

	require.NoError(t, l.fleet.PowerOff(101))
	require.NoError(t, l.fleet.RollbackDisks(blank, "blank"))
	l.powerOn(101)
	l.waitStage(101, talos.StageMaintenance)

	require.NoError(t, l.fleet.PowerOff(101))
	require.NoError(t, l.fleet.RollbackDisks(blank, "installed"))
	l.powerOn(101)
	l.waitStage(101, talos.StageRunning)

	require.NoError(t, l.fleet.DropDiskSnapshots(blank, "installed"))
	require.EqualError(t, l.fleet.RollbackDisks(blank, "installed"), "disk "+blank[0]+" has no snapshot installed")
}
