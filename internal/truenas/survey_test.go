package truenas_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestWhatIsOnABox checks what a preflight reads of a box. An inherited owner does not count.
func TestWhatIsOnABox(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	box.Call(nil, "pool.dataset.create", map[string]any{
		"name": "tank/k8s", "user_properties": []any{map[string]any{"key": truenas.OwnerProperty, "value": "home/home"}},
	})
	box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/k8s/nfs"})
	box.Call(nil, "pool.dataset.create", map[string]any{"name": "tank/disk", "type": "VOLUME", "volsize": 1 << 30})
	require.NoError(t, box.Write("tank/k8s/nfs", 10<<30))
	find := func(names ...string) (found []truenas.FoundDataset) {
		require.NoError(t, box.Connection.Do(t.Context(), func(ctx context.Context, c *truenas.Client) (err error) {
			found, err = c.FindDatasets(ctx, names)
			return err
		}))
		for i := range found {
			require.InDelta(t, 90<<30, found[i].Available, 1<<30, found[i].Name)
			found[i].Available = 0
			found[i].Used = found[i].Used >> 30
		}
		return found
	}
	require.Equal(t, []truenas.FoundDataset{
		{Name: "tank/k8s", Owner: "home/home", Used: 10}, {Name: "tank/k8s/nfs", Used: 10}, {Name: "tank/disk", IsVolume: true},
	}, find("tank/k8s", "tank/k8s/nfs", "tank/disk", "tank/none"))
	box.Fail(fault.Fault{Name: "nas-dataset-locked"})
	require.Equal(t, []truenas.FoundDataset{{Name: "tank/k8s", Owner: "home/home", Used: 10, IsLocked: true}}, find("tank/k8s"))

	require.NoError(t, box.Connection.Do(t.Context(), func(ctx context.Context, c *truenas.Client) error {
		roles, err := c.Roles(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{truenas.FullAdmin}, roles)
		base, err := c.ISCSIBase(ctx)
		require.Equal(t, "iqn.2005-10.org.freenas.ctl", base)
		return err
	}))
}
