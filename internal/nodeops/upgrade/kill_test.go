package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

// installations counts the installations by VMID.
type installations struct {
	talos.Faults

	mu    sync.Mutex
	begun map[int]int
	cut   talos.Point // whose connection breaks
}

// At implements [talos.Faults].
func (i *installations) At(p talos.Point) talos.Effect {
	if i.isCut(p) {
		return talos.Effect{Cut: true}
	}
	return i.Faults.At(p)
}

// isCut counts the installations, and reports whether the connection breaks at a point.
func (i *installations) isCut(p talos.Point) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if p.Name == string(talos.StepUpgrade) {
		i.begun[p.VMID]++
	}
	return p == i.cut
}

func (i *installations) of(vmid int) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.begun[vmid]
}

// lose breaks the connection of each call at a point.
func (i *installations) lose(p talos.Point) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cut = p
}

func (i *installations) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.begun)
}

// bring does to a node what a run does between its drain and its return.
func (c *cluster) bring(ctx context.Context, vmid int, image string) error {
	c.t.Helper()
	node := c.node(vmid, image, upgrade.Limits{})
	if needed, err := node.Fetch(ctx); err != nil || !needed {
		return err
	}
	return node.Run(ctx)
}

// bringAll brings all nodes to an image, one after the other.
func (c *cluster) bringAll(size int, image string) {
	c.t.Helper()
	for vmid := first; vmid < first+size; vmid++ {
		require.NoError(c.t, c.bring(c.t.Context(), vmid, image))
		c.waitVotes(vmid)
	}
}

// TestAKilledRunIsEndedByTheNext checks that the next run completes one that was killed at any of its calls that change something, before or after
// the effect of the call, and installs nothing twice.
func TestAKilledRunIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	const size = 3
	images := []string{newer, factory + other + ":v1.12.11"}
	c := newCluster(t, size)
	c.killer.Begin("", false, nil)
	require.NoError(t, c.bring(t.Context(), c.leader(size), images[0]))
	writes := []string{"ImagePull", "EtcdForfeitLeadership", "Upgrade"}
	require.Equal(t, writes, c.killer.Writes(), "a call that is new here needs its row in this test")
	c.bringAll(size, images[0])

	turn := 0
	for _, call := range writes {
		for _, done := range []bool{false, true} {
			turn++
			image := images[turn%len(images)]
			t.Run(fmt.Sprintf("%s, done %v", call, done), func(t *testing.T) {
				errKilled := errors.New("the run was killed")
				ctx, kill := context.WithCancelCause(t.Context())
				c.installations.forget()
				c.killer.Begin(call, done, func() { kill(errKilled) })
				require.Error(t, c.bring(ctx, c.leader(size), image))
				require.ErrorIs(t, context.Cause(ctx), errKilled, "it has ended by itself")

				c.bringAll(size, image)
				wanted, err := nodeops.ReleaseOf(image)
				require.NoError(t, err)
				for vmid := first; vmid < first+size; vmid++ {
					require.Equal(t, wanted, c.release(vmid))
					require.Equal(t, 1, c.installations.of(vmid), nameOf(vmid))
				}
			})
		}
	}
}

// TestANodeThatGoesAwayWhileItIsPrepared covers a run right after one that was killed, which meets the node while it goes down. A call that fails for
// this reason is not a failure of the run.
func TestANodeThatGoesAwayWhileItIsPrepared(t *testing.T) {
	t.Parallel()
	const size = 3
	c := newCluster(t, size)
	vmid := c.leader(size)
	api := c.Admin(vmid)
	var ordered error
	c.killer.Begin("EtcdMemberList", false, func() {
		_, ordered = api.UpgradeWithOptions(t.Context(), client.WithUpgradeImage(newer))
	})
	require.NoError(t, c.bring(t.Context(), vmid, newer))
	require.NoError(t, ordered)
	wanted, err := nodeops.ReleaseOf(newer)
	require.NoError(t, err)
	require.Equal(t, wanted, c.release(vmid))
	require.Equal(t, 1, c.installations.of(vmid))
}
