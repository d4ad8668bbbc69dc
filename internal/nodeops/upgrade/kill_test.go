package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

// killer ends a run at a call of a node, before the call has its effect or after it, and counts calls and installations.
type killer struct {
	faults talos.Faults

	mu       sync.Mutex
	calls    []string
	installs map[int]int // by VMID
	at       string
	done     bool
	kill     func()
}

// At implements [talos.Faults].
func (k *killer) At(p talos.Point) talos.Effect {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p.Name == string(talos.StepUpgrade) {
		k.installs[p.VMID]++
	}
	if !strings.HasPrefix(p.Name, "/") {
		return k.faults.At(p)
	}
	method := path.Base(p.Name)
	if !p.Done {
		k.calls = append(k.calls, method)
	}
	if k.kill != nil && method == k.at && p.Done == k.done {
		k.kill()
		k.kill = nil
		return talos.Effect{Cut: true}
	}
	return k.faults.At(p)
}

// begin forgets what was counted, and ends the next run at a call.
func (k *killer) begin(at string, done bool, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls, k.at, k.done, k.kill = nil, at, done, kill
	clear(k.installs)
}

// reads are the calls of an upgrade that change nothing.
var reads = []string{"Read", "Version", "List", "Get", "Mounts", "Dmesg", "EtcdMemberList", "EtcdAlarmList", "EtcdStatus", "Events"}

// writes returns the other calls, in their order.
func (k *killer) writes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.calls), func(method string) bool { return slices.Contains(reads, method) })
}

func (k *killer) installed(vmid int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.installs[vmid]
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

// TestAKilledRunIsEndedByTheNext: a run that ends at any of its calls that change something, before or after the effect of the call,
// is ended by the next one, which installs nothing twice.
func TestAKilledRunIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	const size = 3
	images := []string{newer, factory + other + ":v1.12.11"}
	c := newCluster(t, size)
	c.killer.begin("", false, nil)
	require.NoError(t, c.bring(t.Context(), c.leader(size), images[0]))
	writes := []string{"ImagePull", "EtcdForfeitLeadership", "Upgrade"}
	require.Equal(t, writes, c.killer.writes(), "a call that is new here needs its row in this test")
	c.bringAll(size, images[0])

	turn := 0
	for _, call := range writes {
		for _, done := range []bool{false, true} {
			turn++
			image := images[turn%len(images)]
			t.Run(fmt.Sprintf("%s, done %v", call, done), func(t *testing.T) {
				errKilled := errors.New("the run was killed")
				ctx, kill := context.WithCancelCause(t.Context())
				c.killer.begin(call, done, func() { kill(errKilled) })
				require.Error(t, c.bring(ctx, c.leader(size), image))
				require.ErrorIs(t, context.Cause(ctx), errKilled, "it has ended by itself")

				c.bringAll(size, image)
				wanted, err := nodeops.ReleaseOf(image)
				require.NoError(t, err)
				for vmid := first; vmid < first+size; vmid++ {
					require.Equal(t, wanted, c.release(vmid))
					require.Equal(t, 1, c.killer.installed(vmid), nameOf(vmid))
				}
			})
		}
	}
}
