package flock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
)

const soon = 10 * time.Millisecond

func TestLocks(t *testing.T) {
	t.Parallel()

	var locks flock.Locks

	file := flock.ConfigFile(101)

	first, err := locks.Shared(t.Context(), file, soon)
	require.NoError(t, err)

	second, err := locks.Shared(t.Context(), file, soon)
	require.NoError(t, err, "shared locks stand beside each other")

	_, err = locks.Exclusive(t.Context(), file, soon)
	require.EqualError(t, err, "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout")
	require.ErrorAs(t, err, new(*flock.TimeoutError))

	other, err := locks.Exclusive(t.Context(), flock.ConfigFile(102), soon)
	require.NoError(t, err, "another file is another lock")
	other()

	first()
	first()
	second()

	exclusive, err := locks.Exclusive(t.Context(), file, soon)
	require.NoError(t, err)

	_, err = locks.Shared(t.Context(), file, soon)
	require.Error(t, err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()

	_, err = locks.Exclusive(ended, file, time.Hour)
	require.ErrorIs(t, err, context.Canceled)

	go func() {
		time.Sleep(soon)
		exclusive()
	}()

	waited, err := locks.Exclusive(t.Context(), file, 5*time.Second)
	require.NoError(t, err, "who waits gets the lock")
	waited()
}
