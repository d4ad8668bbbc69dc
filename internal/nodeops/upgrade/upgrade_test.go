package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

const newer = factory + plain + ":v1.12.11"

// TestUpgrade comes to another version, to another schematic, and does nothing the second time.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		image string
		want  nodeops.Release
		says  string
	}{
		{newer, nodeops.Release{Version: "v1.12.11", Schematic: plain}, "control-1: v1.12.4 (schematic 37656798) → v1.12.11 (schematic 37656798)\n"},
		{factory + other + ":v1.12.4", nodeops.Release{Version: "v1.12.4", Schematic: other}, "control-1: v1.12.4 (schematic 37656798) → v1.12.4 (schematic aaaaaaaa)\n"},
	} {
		t.Run(test.want.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			require.NoError(t, c.node(first, test.image, upgrade.Limits{}).Run(t.Context()))
			require.Equal(t, test.want, c.release(first))
			require.Contains(t, c.said.String(), test.says)
			require.Contains(t, c.said.String(), "control-1 runs "+test.want.String()+"\n")

			c.said.Reset()
			c.fail(talos.FaultEtcdLocked, 0)
			require.NoError(t, c.node(first, test.image, upgrade.Limits{}).Run(t.Context()), "no second order is given")
			require.Equal(t, "control-1 runs "+test.want.String()+"\n", c.said.String())
		})
	}
}

// TestUpgradeOfALeader: it hands on its leadership before it goes.
func TestUpgradeOfALeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	leader := c.leader(3)
	require.NoError(t, c.node(leader, newer, upgrade.Limits{}).Run(t.Context()))
	require.Contains(t, c.said.String(), nameOf(leader)+" has handed the leadership of etcd to ")
	require.NotEqual(t, leader, c.leader(3))
}

// TestUpgradeThatFails names the cause and what to do, and leaves a node that can be upgraded.
func TestUpgradeThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  string
		image  string
		limits upgrade.Limits
		want   string
	}{
		"the installer fails": {
			fault: talos.FaultUpgradeFails,
			want:  `control-1 was rolled back: it runs v1.12.4 (schematic 37656798) again instead of v1.12.11 (schematic 37656798) (sequence failed: error running phase 9 in upgrade sequence: task 1/1: failed, task "upgrade" failed: exit code 1): look at the console of its VM in Proxmox VE while you run up again, which tries once more, or take the change of the release back`,
		},
		"the first boot fails": {
			fault: talos.FaultUpgradeReverted,
			want:  `control-1 was rolled back: it runs v1.12.4 (schematic 37656798) again instead of v1.12.11 (schematic 37656798) (the first boot of the new release failed, and Talos went back to the slot before): look at the console of its VM in Proxmox VE while you run up again, which tries once more, or take the change of the release back`,
		},
		"another upgrade holds the lock": {
			fault: talos.FaultEtcdLocked, limits: upgrade.Limits{Lock: 50 * time.Millisecond},
			want: `control-1 is untouched, because another upgrade holds the lock talos:etcdUpgradeMutex in etcd after 0 s: see that nobody else upgrades a control plane, then run up again`,
		},
		"no such image": {
			image: factory + plain + ":v1.12.99",
			want:  `control-1 is untouched (error validating installer image "` + factory + plain + `:v1.12.99": ` + factory + plain + `:v1.12.99: not found): see that the Image Factory has this version with these extensions and that the node reaches it, then run up again`,
		},
		"an older version": {
			image: factory + plain + ":v1.12.2",
			want:  "control-1 is untouched, because it runs v1.12.4, which is newer than v1.12.2: set talos.version to v1.12.4, then run up again; `em-infra node rollback` takes back the last upgrade of one node",
		},
		"an image from elsewhere": {
			image: "ghcr.io/siderolabs/installer:v1.12.11",
			want:  `control-1 is untouched: "ghcr.io/siderolabs/installer:v1.12.11" is no installer image of an Image Factory: give one like factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1)
			if test.fault != "" {
				c.fail(test.fault, 0)
			}
			image := test.image
			if image == "" {
				image = newer
			}
			require.EqualError(t, c.node(first, image, test.limits).Run(t.Context()), test.want)
			require.Equal(t, "v1.12.4", c.release(first).Version)

			_, err := c.faults.Clear("")
			require.NoError(t, err)
			require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
			require.Equal(t, "v1.12.11", c.release(first).Version)
		})
	}
}

// TestUpgradeWithoutEvents: what the node runs decides, not what it tells.
func TestUpgradeWithoutEvents(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultEventsLost, 0)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "v1.12.11", c.release(first).Version)
}

// TestUpgradeThatHangs: the sentence says what to do, and after it the next run goes on.
func TestUpgradeThatHangs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultUpgradeHangs, 1)
	short := upgrade.Limits{Boot: 300 * time.Millisecond, Answer: time.Minute}
	const want = "control-1 hangs in its shutdown, 0 s after the order to upgrade: power-cycle its VM in Proxmox VE (stop, then start); it boots the new release or the one before; then run up again"
	require.EqualError(t, c.node(first, newer, short).Run(t.Context()), want)
	require.EqualError(t, c.node(first, newer, short).Run(t.Context()), want, "a second order would be refused")

	require.NoError(t, c.Fleet.PowerOff(first))
	c.powerOn(first)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "v1.12.11", c.release(first).Version)
}

// TestUpgradeIsTakenUp after a run that ended at the order, or while the node boots.
func TestUpgradeIsTakenUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	_, err := c.Admin(first).UpgradeWithOptions(t.Context(), client.WithUpgradeImage(newer))
	require.NoError(t, err)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "control-1 runs v1.12.11 (schematic 37656798)\n", c.said.String(), "no second order is given")
}

// TestUpgradeThatIsEnded leaves the node to itself, and says so.
func TestUpgradeThatIsEnded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultUpgradeHangs, 1)
	errKilled := errors.New("the run was interrupted")
	ctx, end := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { end(errKilled) })
	err := c.node(first, newer, upgrade.Limits{}).Run(ctx)
	require.ErrorIs(t, err, errKilled)
	require.ErrorContains(t, err, "control-1")
}

// TestUpgradeNeedsEveryMember of etcd, as Talos itself does.
func TestUpgradeNeedsEveryMember(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	require.NoError(t, c.Fleet.PowerOff(first+2))
	err := c.node(first, newer, upgrade.Limits{}).Run(t.Context())
	require.ErrorContains(t, err, "control-1 is untouched (error validating etcd for upgrade: etcd member ")
	require.ErrorContains(t, err, "): bring the other control planes back, then run up again")
	require.Equal(t, "v1.12.4", c.release(first).Version, fmt.Sprint("said: ", c.said))
}
