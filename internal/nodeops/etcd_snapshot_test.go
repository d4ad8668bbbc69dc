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

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestEtcdSnapshot(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	take, err := m.health().EtcdSnapshot(t.Context())
	require.NoError(t, err)
	require.Nil(t, take, "there is no etcd yet")
	take, err = m.health().AwaitEtcdSnapshot(t.Context(), 2*time.Second)
	require.NoError(t, err)
	require.Nil(t, take, "and none comes")

	m.bringUp()
	health := m.health()
	snapshot := func(to io.Writer) error {
		t.Helper()
		take, err := health.EtcdSnapshot(t.Context())
		require.NoError(t, err)
		return take(to)
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

// TestEtcdSnapshotAfterAPowerCut: a control plane that boots is waited for, and one that stays silent is what the error says.
func TestEtcdSnapshotAfterAPowerCut(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	health.Runs = func(context.Context, rolling.Node) (bool, error) { return true, nil } // it boots
	require.NoError(t, m.fleet.PowerOff(vmid))
	_, err := health.EtcdSnapshot(t.Context())
	require.ErrorContains(t, err, "k3s-dev-control-1: its machine runs, but nothing answers at ")
	_, last := health.AwaitEtcdSnapshot(t.Context(), 0)
	require.EqualError(t, last, err.Error())

	waits := make(chan string, 1)
	health.Say = func(format string, args ...any) { waits <- fmt.Sprintf(format, args...) }
	type answer struct {
		take func(io.Writer) error
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		take, err := health.AwaitEtcdSnapshot(t.Context(), time.Minute)
		answered <- answer{take, err}
	}()
	require.Equal(t, "waits for etcd ("+err.Error()+"), 1 min at most", <-waits)
	require.NoError(t, m.fleet.PowerOn(t.Context(), talostest.Hardware(vmid, "k3s-dev-control-1", m.address, release)))
	got := <-answered
	require.NoError(t, got.err)
	require.NoError(t, got.take(io.Discard))
}
