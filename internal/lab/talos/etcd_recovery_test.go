package talos_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// recovers uploads a snapshot and has etcd start from it.
func (c *cluster) recovers(vmid int, snapshot []byte, skipHashCheck bool) error {
	c.lab.t.Helper()

	_, err := c.admin(vmid).EtcdRecover(c.lab.t.Context(), bytes.NewReader(snapshot))
	if err != nil {
		return err
	}

	return c.admin(vmid).Bootstrap(c.lab.t.Context(), &machine.BootstrapRequest{RecoverEtcd: true, RecoverSkipHashCheck: skipHashCheck})
}

// empty wipes EPHEMERAL of nodes, and returns when each waits for a bootstrap. The others are switched off meanwhile: one that is wiped
// while they have a quorum would join them again.
func (c *cluster) empty(vmids ...int) {
	c.lab.t.Helper()

	for _, vmid := range vmids {
		require.NoError(c.lab.t, c.lab.fleet.PowerOff(vmid))
	}

	for _, vmid := range vmids {
		c.lab.powerOn(vmid)
		c.waitAPI(vmid)

		boot := c.bootID(vmid)
		require.NoError(c.lab.t, c.admin(vmid).ResetGeneric(c.lab.t.Context(), &machine.ResetRequest{
			Reboot: true, SystemPartitionsToWipe: []*machine.ResetPartitionSpec{{Label: "EPHEMERAL", Wipe: true}},
		}))
		c.waitNewBoot(vmid, boot)
		c.lab.eventually(func() bool { state, _ := c.serviceState(vmid, "etcd"); return state == "Preparing" }, "etcd does not wait")
	}
}

func (c *cluster) entries(vmid int) []string {
	c.lab.t.Helper()

	stream, err := c.admin(vmid).LS(c.lab.t.Context(), &machine.ListRequest{Root: "/var/lib/etcd"})
	require.NoError(c.lab.t, err)

	var names []string

	for {
		entry, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return names
		}

		require.NoError(c.lab.t, err)

		names = append(names, entry.GetRelativeName())
	}
}

// TestEtcdIsRecoveredFromASnapshot loses the data of all members: one recovers, and the others join it by themselves.
func TestEtcdIsRecoveredFromASnapshot(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()
	snapshot, err := c.snapshot(t.Context(), 102)
	require.NoError(t, err)
	require.Equal(t, []string{".", "member"}, c.entries(102))

	c.empty(101, 102, 103)
	require.Equal(t, []string{"."}, c.entries(102))

	require.NoError(t, c.recovers(102, snapshot, false))
	c.waitMembers(102, map[string]bool{"vm-101": false, "vm-102": false, "vm-103": false})
	require.Equal(t, codes.AlreadyExists, status.Code(c.recovers(102, snapshot, false)))
}

// TestSnapshotsThatDoNotFit: Talos answers before it looks at the snapshot, so only the service reports what is wrong.
func TestSnapshotsThatDoNotFit(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	snapshot, err := c.snapshot(t.Context(), 101)
	require.NoError(t, err)

	database := snapshot[:len(snapshot)-32]
	altered := bytes.Clone(snapshot)
	altered[100] ^= 1

	c.empty(101)

	fails := func(want string) {
		t.Helper()
		l.eventually(func() bool {
			services, err := c.admin(101).ServiceInfo(t.Context(), "etcd")
			if err != nil || len(services) != 1 || services[0].Service.GetState() != "Failed" {
				return false
			}

			events := services[0].Service.GetEvents().GetEvents()

			return strings.HasPrefix(events[len(events)-1].GetMsg(), want)
		}, "etcd does not fail with %s", want)
	}

	require.NoError(t, c.admin(101).Bootstrap(t.Context(), &machine.BootstrapRequest{RecoverEtcd: true}))
	fails("Failed to run pre stage: error verifying snapshot: stat /var/lib/etcd.snapshot: no such file or directory")

	require.NoError(t, c.recovers(101, database, false))
	fails("Failed to run pre stage: error recovering from the snapshot: snapshot missing hash but --skip-hash-check=false")
	require.Equal(t, []string{"."}, c.entries(101))

	require.NoError(t, c.recovers(101, altered, false))
	fails("Failed to run pre stage: error recovering from the snapshot: expected sha256 [")

	require.NoError(t, c.recovers(101, database, true))
	c.waitHealthy(101, "etcd")
}

func TestEtcdRecoverOnAWorker(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	l.eventually(func() bool {
		return status.Code(c.recovers(102, []byte("snapshot"), false)) == codes.Unimplemented
	}, "a worker takes a snapshot")
	require.EqualError(t, c.recovers(102, nil, false), "rpc error: code = Unimplemented desc = etcd recover is only available on control plane nodes")
}

// TestTheDataFileIsCopied: without a quorum etcd gives no snapshot, and its file is still there.
func TestTheDataFileIsCopied(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.threeControlPlanes()
	require.NoError(t, l.fleet.PowerOff(102))
	require.NoError(t, l.fleet.PowerOff(103))
	l.eventually(func() bool {
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()

		_, err := c.snapshot(short, 101)

		return err != nil
	}, "etcd gives a snapshot")

	stream, err := c.admin(101).Copy(t.Context(), "/var/lib/etcd/member/snap/db")
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // it was read to its end
	packed, err := gzip.NewReader(stream)
	require.NoError(t, err)

	files := tar.NewReader(packed)
	header, err := files.Next()
	require.NoError(t, err)
	require.Equal(t, "db", header.Name)

	text, err := io.ReadAll(files)
	require.NoError(t, err)
	require.Zero(t, len(text)%512)

	missing, err := c.admin(101).Copy(t.Context(), "/var/lib/absent")
	require.NoError(t, err)
	_, err = io.ReadAll(missing)
	require.ErrorContains(t, err, "lstat /var/lib/absent: no such file or directory")
}
