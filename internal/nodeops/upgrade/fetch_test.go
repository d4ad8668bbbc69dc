package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
)

// TestFetch gets an image, and does nothing to a node that runs it.
func TestFetch(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.killer.Begin("", false, nil)
	needed, err := c.node(first, newer, upgrade.Limits{}).Fetch(t.Context())
	require.NoError(t, err)
	require.True(t, needed)
	require.Equal(t, []string{"ImagePull"}, c.killer.Writes())

	c.killer.Begin("", false, nil)
	needed, err = c.node(first, factory+plain+":v1.12.4", upgrade.Limits{}).Fetch(t.Context())
	require.NoError(t, err)
	require.False(t, needed)
	require.Empty(t, c.killer.Writes())
}

// TestFetchThatFails names the cause and what to do, and leaves a node that gets the image as soon as the cause is gone.
func TestFetchThatFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  string
		image  string
		limits upgrade.Limits
		want   string
	}{
		"no such image": {
			image: factory + plain + ":v1.12.99",
			want: "control-1 is untouched, because the installer image does not exist (failed to resolve image: " + factory + plain + ":v1.12.99: not found): " +
				"set talos.version to a release that the Image Factory has with these extensions, then run up again",
		},
		"an extension that the release lacks": {
			fault: talos.FaultImageRefused,
			want: "control-1 is untouched, because the registry refuses the installer image (failed to resolve image: unexpected status from HEAD request to " +
				"https://factory.talos.dev/v2/nocloud-installer/SCHEMATIC/manifests/VERSION: 400 Bad Request): " +
				"see that the Image Factory has this version with these extensions, then run up again",
		},
		"the registry is not reached": {
			fault: talos.FaultRegistryDown, limits: upgrade.Limits{Pull: 10 * time.Second},
			want: "control-1 is untouched, because it has not pulled the installer image after 10 s (failed to resolve image: failed to do request: Head " +
				`"https://factory.talos.dev/v2/nocloud-installer/SCHEMATIC/manifests/VERSION": dial tcp 192.0.2.1:443: connect: connection refused): ` +
				"see that it reaches the Image Factory, or give it a registry mirror in talos.patches, then run up again",
		},
		"a slow download": {
			fault: talos.FaultPullSlow, limits: upgrade.Limits{Pull: time.Second},
			want: "control-1 is untouched, because it has not pulled the installer image after 1 s: " +
				"see that it reaches the Image Factory, or give it a registry mirror in talos.patches, then run up again",
		},
		"the image does not fit": {
			fault: talos.FaultPullWithoutRoom,
			want: "control-1 is untouched, because the installer image does not fit on its disk (failed to extract layer sha256:0b1a7d1c9f63: write " +
				"/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/42/fs/usr/install/amd64/vmlinuz.efi: no space left on device): " +
				"make room on its disk, or give it a larger one with diskGiB, then run up again",
		},
		"the disk is nearly full": {
			fault: talos.FaultEphemeralFull,
			want: "control-1 is untouched, because its image cannot be pulled now (its volume EPHEMERAL has 300 MiB free, and an installer image needs up to 1200 MiB): " +
				"make room on its disk, or give it a larger one with diskGiB, then run up again",
		},
		"an older version": {
			image: factory + plain + ":v1.12.2",
			want: "control-1 is untouched, because Talos v1.12.4 → v1.12.2 is a downgrade (control-1 runs v1.12.4): set talos.version to v1.12.4 or later, " +
				"or go back with `em-infra node rollback` where the last upgrade came from v1.12.2, then run up again",
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
			_, err := c.node(first, image, test.limits).Fetch(t.Context())
			require.EqualError(t, err, test.want)

			_, err = c.faults.Clear("")
			require.NoError(t, err)
			c.killer.Begin("", false, nil)
			needed, err := c.node(first, newer, upgrade.Limits{}).Fetch(t.Context())
			require.NoError(t, err)
			require.True(t, needed)
			require.Equal(t, []string{"ImagePull"}, c.killer.Writes())
		})
	}
}

// TestAnUpgradeThatGoesOnIsWaitedFor: the run that has ordered it was killed.
func TestAnUpgradeThatGoesOnIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.order(first, newer)
	c.killer.Begin("", false, nil)
	needed, err := c.node(first, newer, upgrade.Limits{}).Fetch(t.Context())
	require.NoError(t, err)
	require.False(t, needed)
	require.Empty(t, c.killer.Writes())
	require.Equal(t, "v1.12.11", c.release(first).Version)
}
