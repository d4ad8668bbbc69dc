package nodeops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestARebootBringsTheRoomOfADiskIntoUse checks that a node reports its installation disk and its volumes, and that Reboot
// returns in the next boot.
func TestARebootBringsTheRoomOfADiskIntoUse(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	m.apply(bundle)
	m.waitFor(talos.StageRunning)

	seen, err := health.Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	require.Equal(t, "scsi0", seen.InstalledOn)
	require.Len(t, seen.Volumes, 1)
	before := seen.Volumes[0]
	require.Equal(t, nodeops.Volume{Name: "EPHEMERAL", Phase: "ready", Drive: "scsi0", Bytes: before.Bytes}, before)

	require.NoError(t, m.fleet.ChangeDisks(vmid, []talos.Disk{{ID: "tank:vm-101-disk-0", Bytes: 80 << 30}}))
	seen, err = health.Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	require.Equal(t, before.Bytes, seen.Volumes[0].Bytes)
	require.Equal(t, uint64(16), seen.Volumes[0].UnusedBytes>>30)

	require.NoError(t, health.Reboot(t.Context(), rolling.Node{Name: "k3s-dev-control-1", Address: m.address}))
	polltest.Until(t, func() bool {
		seen, err = health.Observe(t.Context(), m.address.String())
		return err == nil && len(seen.Volumes) == 1
	})
	require.Equal(t, before.Bytes+16<<30, seen.Volumes[0].Bytes)
	require.Zero(t, seen.Volumes[0].UnusedBytes)
}

func TestANodeThatDoesNotAnswerIsNotRebooted(t *testing.T) {
	t.Parallel()
	m, bundle := powerOn(t), secretsOf(t, ours)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, bundle, m.address)}
	err := health.Reboot(t.Context(), rolling.Node{Name: "k3s-dev-control-1", Address: m.address})
	require.EqualError(t, err, "k3s-dev-control-1 does not take the order to reboot ("+nodeops.ErrForeign.Error()+"): see that it runs and that its Talos API is reached, then reboot it again")
}
