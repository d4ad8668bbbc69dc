package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/tests/labstack"
)

// TestE2EStorageIsAdopted: a cluster whose state is lost has its storage on a TrueNAS box. An adoption writes nothing there, and the CSI driver's key
// still opens the box. The box shows a key only once, so the next up makes another and hands it to the cluster in the same run.
func TestE2EStorageIsAdopted(t *testing.T) {
	t.Parallel()
	extended(t)
	s := &storageUnderTest{rehearsal: newRehearsal(t, "e2e-adopt-storage")}
	s.edit("cluster.yaml", "extensions: []", "extensions: [siderolabs/iscsi-tools]")
	s.writeInventory("cluster.yaml", s.inventoryText("cluster.yaml")+storageOfTheTest)
	s.mustRun(0, "up", "--lab", "--yes")
	had, key, boots := s.urns(), s.apiKey(), s.boots()
	s.losesItsState()
	s.box(func(ctx context.Context, c *truenas.Client) error {
		return c.Call(ctx, nil, "pool.dataset.update", "tank/k8s", map[string]any{"quota": 1 << 30})
	})
	hostSeen, boxSeen := len(s.calls()), len(s.nasCalls())

	require.Contains(t, s.mustRun(0, "adopt", "--lab", "--dry-run"), "nothing was written\n")
	output := s.mustRun(0, "adopt", "--lab")
	require.Contains(t, output, "quota", "what differs on the box is shown")
	require.Empty(t, labstack.NASWrites(s.nasCalls()[boxSeen:]), "the box was only read")
	require.Empty(t, writes(s.calls()[hostSeen:]), "the host was only read")
	require.Equal(t, had, s.urns())
	s.opensTheBox(key)

	s.mustRun(0, "up", "--lab", "--yes")
	require.EqualValues(t, 500<<30, s.dataset("tank/k8s").Quota)
	require.NotEqual(t, key, s.apiKey())
	s.opensTheBox(s.apiKey())
	s.hasWhatTheDriverReads()
	require.Equal(t, boots, s.boots())
	s.nothingChanges()
}

// nasCalls returns the methods that the lab's NAS was called with so far.
func (r *rehearsal) nasCalls() []string {
	r.t.Helper()
	methods, err := labstack.NASCalls(r.labDir())
	require.NoError(r.t, err)
	return methods
}
