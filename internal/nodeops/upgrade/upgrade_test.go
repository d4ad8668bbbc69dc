package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const newer = factory + plain + ":v1.12.11"

// TestUpgrade upgrades to another version and to another schematic, and does nothing the second time.
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
			require.Contains(t, c.printed.String(), test.says)
			require.Contains(t, c.printed.String(), "control-1 runs "+test.want.String()+"\n")

			c.printed.Reset()
			c.fail(talos.FaultEtcdLocked, 0)
			require.NoError(t, c.node(first, test.image, upgrade.Limits{}).Run(t.Context()), "no second order is given")
			require.Equal(t, "control-1 runs "+test.want.String()+"\n", c.printed.String())
		})
	}
}

// TestUpgradeToACopyOfAnImage covers a copy whose name contains no schematic, although a node that runs it reports one.
func TestUpgradeToACopyOfAnImage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultEtcdLocked, 0)
	require.NoError(t, c.node(first, mirror+":v1.12.4", upgrade.Limits{}).Run(t.Context()), "no order is given for the version that runs")
	require.Equal(t, "control-1 runs v1.12.4 (schematic 37656798)\n", c.printed.String())
	needed, err := c.node(first, mirror+":v1.12.4", upgrade.Limits{}).Fetch(t.Context())
	require.NoError(t, err)
	require.False(t, needed)

	_, err = c.faults.Clear(talos.FaultEtcdLocked)
	require.NoError(t, err)
	require.NoError(t, c.node(first, mirror+":v1.12.11", upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, nodeops.Release{Version: "v1.12.11", Schematic: plain}, c.release(first))
	require.Contains(t, c.printed.String(), "control-1: v1.12.4 (schematic 37656798) → v1.12.11\n")
}

// TestUpgradeOfALeader: it hands on its leadership before it goes.
func TestUpgradeOfALeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	leader := c.leader(3)
	require.NoError(t, c.node(leader, newer, upgrade.Limits{}).Run(t.Context()))
	require.Contains(t, c.printed.String(), nameOf(leader)+" has handed the leadership of etcd to ")
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
			want: `control-1 is untouched, because another upgrade holds the lock talos:etcdUpgradeMutex in etcd after 0 s: make sure that no other upgrade of a control plane is running, then run up again`,
		},
		"no such image": {
			image: factory + plain + ":v1.12.99",
			want:  `control-1 is untouched (error validating installer image "` + factory + plain + `:v1.12.99": 1 error(s) occurred: failed to pull image "` + factory + plain + `:v1.12.99": failed to resolve image: ` + factory + plain + `:v1.12.99: not found): see that the Image Factory has this version with these extensions and that the node reaches it, then run up again`,
		},
		"an older version": {
			image: factory + plain + ":v1.12.2",
			want:  "control-1 is untouched, because Talos v1.12.4 → v1.12.2 is a downgrade (control-1 runs v1.12.4): set talos.version to v1.12.4 or later, or go back with `em-infra node rollback` where the last upgrade came from v1.12.2, then run up again",
		},
		"a version whose installer refuses the one that runs": {
			image: factory + plain + ":v1.15.0",
			want:  "control-1 is untouched, because Talos v1.12.4 → v1.15.0 skips v1.13, v1.14 (control-1 runs v1.12.4): go talos.version v1.12.11 → talos.version v1.13.9 → talos.version v1.14.1 → talos.version v1.15.0, with an up after each, then run up again",
		},
		"an image without a release": {
			image: "ghcr.io/siderolabs/installer:latest",
			want:  `control-1 is untouched: "ghcr.io/siderolabs/installer:latest" is no installer image with a release of Talos: give one like factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4`,
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

// TestUpgradeWithoutEvents checks that the result depends on what the node runs, not on its events.
func TestUpgradeWithoutEvents(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultEventsLost, 0)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "v1.12.11", c.release(first).Version)
}

// TestUpgradeThatHangs checks that the error states what to do, and that the next run goes on afterwards.
func TestUpgradeThatHangs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultUpgradeHangs, 1)
	short := upgrade.Limits{Boot: 5 * time.Second, Answer: time.Minute}
	const want = "control-1 hangs in its shutdown, 5 s after the order to upgrade: power-cycle its VM in Proxmox VE (stop, then start); it boots the new release or the one before; then run up again"
	require.EqualError(t, c.node(first, newer, short).Run(t.Context()), want)
	require.Equal(t, 1, c.faults.List()[0].Occurred, "the upgrade is ordered")
	require.EqualError(t, c.node(first, newer, short).Run(t.Context()), want, "a second order would be refused")

	require.NoError(t, c.Fleet.PowerOff(first))
	c.powerOn(first)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "v1.12.11", c.release(first).Version)
}

// TestUpgradeIsTakenUp checks that an upgrade is continued after a run that ended at the order, or while the node boots.
func TestUpgradeIsTakenUp(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.order(first, newer)
	require.NoError(t, c.node(first, newer, upgrade.Limits{}).Run(t.Context()))
	require.Equal(t, "control-1 runs v1.12.11 (schematic 37656798)\n", c.printed.String(), "no second order is given")
}

// TestUpgradeThatIsEnded checks that an interrupted run leaves the upgrade to the node, and reports that.
func TestUpgradeThatIsEnded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.fail(talos.FaultUpgradeHangs, 1)
	errKilled := errors.New("the run was interrupted")
	ctx, end := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.node(first, newer, upgrade.Limits{}).Run(ctx) }()
	polltest.Until(t, func() bool { return c.faults.List()[0].Occurred > 0 }, "the upgrade does not hang")
	end(errKilled)
	err := <-ended
	require.ErrorIs(t, err, errKilled)
	require.ErrorContains(t, err, "control-1")
}

// TestUpgradeNeedsEveryMember checks that an upgrade needs every member of etcd, as Talos itself does.
func TestUpgradeNeedsEveryMember(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	require.NoError(t, c.Fleet.PowerOff(first+2))
	err := c.node(first, newer, upgrade.Limits{}).Run(t.Context())
	require.ErrorContains(t, err, "control-1 is untouched (error validating etcd for upgrade: etcd member ")
	require.ErrorContains(t, err, "): bring the other control planes back, then run up again")
	require.Equal(t, "v1.12.4", c.release(first).Version, fmt.Sprint("said: ", c.printed))
}

// TestTheLaneRefusesWhileAMemberIsDown checks that the lane refuses before anything is done to a node.
func TestTheLaneRefusesWhileAMemberIsDown(t *testing.T) {
	t.Parallel()
	const size = 3
	c := newCluster(t, size)
	health := nodeops.Health{Talosconfig: c.Talosconfig()}
	for vmid := first; vmid < first+size; vmid++ {
		health.Nodes = append(health.Nodes, rolling.Node{Name: nameOf(vmid), Address: c.Address(vmid), ControlPlane: true})
	}
	require.NoError(t, c.Fleet.PowerOff(first+2))
	c.killer.Begin("", false, nil)
	lane := rolling.NewLane(health, rolling.Options{Patience: time.Nanosecond})
	down := c.Address(first + 2).String()
	require.EqualError(t, lane.Enter(t.Context(), rolling.Change{Node: health.Nodes[0], Reboots: true}),
		"control-1 is untouched, because the cluster cannot do without it now (etcd member on "+down+": its Talos API: connection error: "+
			`desc = "transport: Error while dialing: dial tcp `+down+`:50000: connect: connection refused"): mend that, then run up again`)
	require.Empty(t, c.killer.Writes())
}
