package upgrade_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/upgrade"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	factory = "factory.talos.dev/nocloud-installer/"
	plain   = talostest.Schematic
	other   = "aaaaaaaad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba00"
	mirror  = "registry.example.org/talos/installer"
	first   = talostest.First
)

func TestMain(m *testing.M) { talostest.Main(m) }

// cluster is a number of emulated control planes on Talos v1.12.4, each on its own loopback address.
type cluster struct {
	*talostest.Cluster
	t             *testing.T
	faults        *fault.Set
	killer        *talostest.Killer
	installations *installations
	printed       *strings.Builder
}

// newCluster brings up control planes. They stop when the test ends.
func newCluster(t *testing.T, size int) *cluster {
	t.Helper()
	c := &cluster{t: t, faults: fault.NewSet([32]byte{1}, talos.FaultKinds()), printed: &strings.Builder{}}
	c.killer = talostest.NewKiller(talos.NewFaultSet(c.faults, nil))
	c.installations = &installations{Faults: c.killer, begun: map[int]int{}}
	c.Cluster = talostest.NewCluster(t, "v1.12.4", constants.DefaultKubernetesVersion,
		talos.Config{Faults: c.installations, Installer: released, Pace: untilTheEnd(4 * time.Minute)})
	for i := range size {
		c.Join(first+i, nameOf(first+i), machinetype.TypeControlPlane)
		c.waitVotes(first + i)
	}
	return c
}

// untilTheEnd is a pace without delays, except for a slow download, which lasts as long as the call.
type untilTheEnd time.Duration

// Sleep implements [talos.Pacer].
func (u untilTheEnd) Sleep(ctx context.Context, d time.Duration) error {
	if d == time.Duration(u) {
		<-ctx.Done()
	}
	return ctx.Err()
}

// released knows three releases. The mirror has copies of the images with the plain schematic, under a name that does not contain it.
func released(image string) (talos.Release, error) {
	release, err := talos.ReleaseFromReference(image)
	if strings.HasPrefix(image, mirror) {
		release.Schematic = plain
	}
	if err == nil && release.Version != "v1.12.4" && release.Version != "v1.12.11" && release.Version != "v1.12.2" {
		return release, fmt.Errorf("%s: not found", image)
	}
	return release, err
}

func nameOf(vmid int) string { return fmt.Sprintf("control-%d", vmid-first+1) }

func (c *cluster) powerOn(vmid int) {
	c.t.Helper()
	c.PowerOn(vmid, nameOf(vmid))
}

func (c *cluster) waitVotes(vmid int) {
	c.t.Helper()
	polltest.Until(c.t, func() bool {
		status, err := c.Admin(vmid).EtcdStatus(c.t.Context())
		return err == nil && !status.GetMessages()[0].GetMemberStatus().GetIsLearner() && status.GetMessages()[0].GetMemberStatus().GetLeader() != 0
	}, nameOf(vmid), " has no vote")
}

// leader returns the VMID of the leader of etcd.
func (c *cluster) leader(size int) int {
	c.t.Helper()
	for vmid := first; vmid < first+size; vmid++ {
		status, err := c.Admin(vmid).EtcdStatus(c.t.Context())
		require.NoError(c.t, err)
		if member := status.GetMessages()[0].GetMemberStatus(); member.GetLeader() == member.GetMemberId() {
			return vmid
		}
	}
	c.t.Fatal("no leader")
	return 0
}

// node returns the upgrade of a node to an image. Its limits are far beyond what the emulated node takes, or end at once.
func (c *cluster) node(vmid int, image string, limits upgrade.Limits) upgrade.Node {
	c.t.Helper()
	limits.Interval = 10 * time.Millisecond
	return upgrade.Node{
		Name: nameOf(vmid), Address: c.Address(vmid).String(), ControlPlane: true, Image: image,
		Talosconfig: c.Talosconfig(), Limits: limits, Progress: c.printed,
	}
}

func (c *cluster) release(vmid int) nodeops.Release {
	c.t.Helper()
	talosconfig := c.Talosconfig()
	var seen nodeops.Running
	polltest.Succeeds(c.t, func() (err error) {
		seen, err = nodeops.LookAt(c.t.Context(), talosconfig, c.Address(vmid).String())
		return err
	})
	return seen.Release
}

func (c *cluster) fail(name string, times int) {
	c.t.Helper()
	require.NoError(c.t, c.faults.Set(fault.Fault{Name: name, Times: times}))
}

// order gives the order to upgrade, and does not follow it.
func (c *cluster) order(vmid int, image string) {
	c.t.Helper()
	_, err := c.Admin(vmid).UpgradeWithOptions(c.t.Context(), client.WithUpgradeImage(image))
	require.NoError(c.t, err)
}
