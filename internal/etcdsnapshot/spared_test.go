package etcdsnapshot_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/retention"
)

// TestASnapshotInUseStays: a restore that has begun goes on with its snapshot, however many are taken meanwhile.
func TestASnapshotInUseStays(t *testing.T) {
	t.Parallel()
	const first, second, third = "2026-11-20T22-15-00-before-up", "2026-11-20T22-16-00-before-up", "2026-11-20T22-17-00-before-up"
	for _, test := range []struct {
		name, note string
		spared     []string
		stay       []string // newest first
	}{
		{"no restore", "", nil, []string{third}},
		{"one that is chosen", "", []string{first}, []string{third, first}},
		{"one of a restore that has begun", `{"snapshot":"` + second + `","on":"cp-1"}`, nil, []string{third, second}},
		{"a note that is damaged", "{", nil, []string{third, second, first}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			store.Keep, store.Spared = retention.Rule{Last: 1}, test.spared
			if test.note != "" {
				require.NoError(t, os.MkdirAll(store.Dir, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(store.Dir, etcdsnapshot.RestoreNote), []byte(test.note), 0o600))
			}
			for minute := range 3 {
				_, err := store.Save(evening.Add(time.Duration(minute)*time.Minute), "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
				require.NoError(t, err)
			}
			all, err := store.List()
			require.NoError(t, err)
			var names []string
			for _, one := range all {
				names = append(names, one.Name)
			}
			require.Equal(t, test.stay, names)
		})
	}
}

// TestANewSnapshotStays, even if the clock of this machine was wrong when others were taken, so that they count as newer.
func TestANewSnapshotStays(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Keep = retention.Rule{Last: 1}
	for _, at := range []time.Time{evening.AddDate(1, 0, 0), evening} {
		saved, err := store.Save(at, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
		require.NoError(t, err)
		require.FileExists(t, saved.Path)
	}
}

// TestANewSnapshotIsSent into the bucket, and stays there, in the same case.
func TestANewSnapshotIsSent(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Keep = retention.Rule{Last: 1}
	remote, _ := newRemote(t)
	remote.Keep = store.Keep
	ahead, made := save(t, store, evening.AddDate(1, 0, 0), k3s), save(t, store, evening, k3s)
	send(t, remote, ahead)
	sent, err := remote.SendMissing(t.Context(), []etcdsnapshot.Snapshot{made})
	require.NoError(t, err)
	require.Empty(t, sent)
	remote.Spared = []string{made.Name}
	sent, err = remote.SendMissing(t.Context(), []etcdsnapshot.Snapshot{made})
	require.NoError(t, err)
	require.Equal(t, []string{made.Name}, sent)
	require.Contains(t, namesOf(t, remote), made.Name)
}
