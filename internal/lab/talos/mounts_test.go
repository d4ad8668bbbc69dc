package talos_test

import (
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/stretchr/testify/require"
)

// TestMountsAreThoseOfTheVolumes makes the calls of Talos 1.10's health checks, which the provider's talos_cluster_health
// uses (pkg/cluster/check/nodes.go, AllNodesDiskSizes): for the source of EPHEMERAL, and for the size of its mount.
func TestMountsAreThoseOfTheVolumes(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")

	ephemeral, err := safe.StateGetByID[*runtime.MountStatus](t.Context(), c.admin(101).COSI, constants.EphemeralPartitionLabel)
	require.NoError(t, err)
	require.Equal(t, constants.EphemeralMountPoint, ephemeral.TypedSpec().Target)
	require.Equal(t, "xfs", ephemeral.TypedSpec().FilesystemType)

	mounts, err := c.admin(101).Mounts(t.Context())
	require.NoError(t, err)

	var found *machine.MountStat

	for _, stat := range mounts.Messages[0].Stats {
		if stat.Filesystem == ephemeral.TypedSpec().Source {
			found = stat
		}
	}

	require.NotNil(t, found)
	require.Equal(t, constants.EphemeralMountPoint, found.MountedOn)
	require.Equal(t, c.volume(101, constants.EphemeralPartitionLabel).Size, found.Size)
}
