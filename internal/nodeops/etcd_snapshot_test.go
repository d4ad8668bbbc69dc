package nodeops_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestEtcdSnapshot(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	none, err := m.health().EtcdSnapshot(t.Context())
	require.NoError(t, err)
	require.Nil(t, none, "there is no etcd yet")
	none, err = m.health().AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{Works: time.Minute, Starts: time.Second})
	require.NoError(t, err)
	require.Nil(t, none, "and none comes")

	m.bringUp()
	health := m.health()
	snapshot := func(to io.Writer) error {
		t.Helper()
		taken, err := health.EtcdSnapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{release, "v" + constants.DefaultKubernetesVersion}, []string{taken.Talos, taken.Kubernetes}, "what runs")
		return taken.Take(to)
	}
	var text bytes.Buffer
	require.NoError(t, snapshot(&text))
	require.Equal(t, sha256.Size, text.Len()%512)
	require.EqualError(t, snapshot(full{}), "etcd on k3s-dev-control-1 gives no snapshot: no space left on device")

	second := m.further(2, freeAddress(t))
	health.Nodes = append(health.Nodes, second) // after the leader
	m.join(second, 2)
	m.eventually(func() error {
		if err := snapshot(full{}); err.Error() != "etcd on "+second.Name+" gives no snapshot: no space left on device" {
			return err // it has no vote yet
		}
		return nil
	})
}

// TestEtcdSnapshotAfterAPowerCut checks that the wait covers the boot of a control plane, and that the error names a control plane that stays silent.
func TestEtcdSnapshotAfterAPowerCut(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return true, nil } // it boots
	require.NoError(t, m.fleet.PowerOff(vmid))
	_, err := health.EtcdSnapshot(t.Context())
	require.ErrorContains(t, err, "k3s-dev-control-1: its machine runs, but nothing answers at ")
	_, last := health.AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{})
	require.EqualError(t, last, err.Error())

	waits := make(chan string, 1)
	health.Say = func(format string, args ...any) { waits <- fmt.Sprintf(format, args...) }
	type answer struct {
		snapshot *nodeops.EtcdSnapshot
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		snapshot, err := health.AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{Works: time.Minute, Starts: time.Minute})
		answered <- answer{snapshot, err}
	}()
	require.Equal(t, "waits for etcd ("+err.Error()+"), 1 min at most", <-waits)
	require.NoError(t, m.fleet.PowerOn(t.Context(), talostest.Hardware(vmid, "k3s-dev-control-1", m.address, release)))
	got := <-answered
	require.NoError(t, got.err)
	require.NoError(t, got.snapshot.Take(io.Discard))
}

// TestEtcdSnapshotOfAMemberThatStillStarts: it has its vote already, and does not send a snapshot.
func TestEtcdSnapshotOfAMemberThatStillStarts(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, talos.FaultKinds())
	m := powerOn(t, func(config *talos.Config, _ *talos.Hardware) { config.Faults = talos.NewFaultSet(faults, nil) })
	m.bringUp()
	require.NoError(t, faults.Set(fault.Fault{Name: talos.FaultAPIUnavailable, Endpoint: "/machine.MachineService/EtcdSnapshot", Times: 2}))
	_, err := m.health().AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{})
	require.EqualError(t, err, "etcd on k3s-dev-control-1 gives no snapshot: the node does not answer")
	snapshot, err := m.health().AwaitEtcdSnapshot(t.Context(), nodeops.SnapshotWait{Works: time.Minute})
	require.NoError(t, err)
	require.NoError(t, snapshot.Take(io.Discard))
}
