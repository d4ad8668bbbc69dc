package nodeops_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
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
