package talos_test

import (
	"context"
	"crypto/sha256"
	"io"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

func (c *cluster) snapshot(ctx context.Context, vmid int) ([]byte, error) {
	stream, err := c.admin(vmid).EtcdSnapshot(ctx, &machine.EtcdSnapshotRequest{})
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // it was read to its end

	return io.ReadAll(stream)
}

func TestEtcdSnapshot(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("ha")
	l.install(102, c.worker())
	l.waitStage(102, talos.StageRunning)

	text, err := c.snapshot(t.Context(), 101)
	require.NoError(t, err)
	require.Equal(t, sha256.Size, len(text)%512, "the only thing that talosctl looks at")
	sum := sha256.Sum256(text[:len(text)-sha256.Size])
	require.Equal(t, sum[:], text[len(text)-sha256.Size:])

	_, err = c.snapshot(t.Context(), 102)
	require.ErrorContains(t, err, "etcd snapshot is only available on control plane nodes")
}

func TestEtcdSnapshotBeforeTheBootstrap(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.cluster("k3s-dev")
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)

	_, err := c.admin(101).Version(t.Context()) // it is connected
	require.NoError(t, err)

	short, end := context.WithTimeout(t.Context(), time.Second)
	defer end()

	text, err := c.snapshot(short, 101)
	require.NoError(t, err, "Talos' client ends a stream at its deadline without an error")
	require.Empty(t, text, "it waits for etcd")
}
