package etcdsnapshot_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/retention"
)

// TestWhatTheBucketLacksIsSentLater: newest first, only what the rule would keep there, and nothing of another cluster.
func TestWhatTheBucketLacksIsSentLater(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Keep = retention.Rule{Last: 100}
	remote, folder := newRemote(t)
	remote.Keep = retention.Rule{Last: 3}
	var saved []etcdsnapshot.Snapshot
	for i := range 5 {
		saved = append(saved, save(t, store, evening.Add(time.Duration(i)*time.Second), k3s))
	}
	save(t, store, evening.Add(time.Hour), etcdsnapshot.Cluster{Name: "k3s-prod"})
	described := save(t, store, evening.Add(2*time.Hour), k3s)
	require.NoError(t, os.Remove(described.Files()[1]))
	send(t, remote, saved[3])

	lacking := func() (names []string) {
		local, err := store.List()
		require.NoError(t, err)
		missing, err := remote.Missing(t.Context(), local)
		require.NoError(t, err)
		for _, snapshot := range missing {
			names = append(names, snapshot.Name)
		}
		return names
	}
	require.Equal(t, []string{saved[4].Name, saved[2].Name}, lacking(), "with the one that is there they are three")

	// An upload of an earlier run was cut off, and the newest snapshot cannot be read now.
	require.NoError(t, os.WriteFile(filepath.Join(folder, saved[2].Name+".json"), nil, 0o600))
	require.NoError(t, os.Rename(saved[4].Path, saved[4].Path+".away"))
	require.NoError(t, os.Mkdir(saved[4].Path, 0o700))
	local, err := store.List()
	require.NoError(t, err)
	sent, err := remote.SendMissing(t.Context(), local)
	require.ErrorContains(t, err, "is a directory")
	require.Empty(t, sent)
	require.NoError(t, os.Remove(saved[4].Path))
	sent, err = remote.SendMissing(t.Context(), local)
	require.NoError(t, err)
	require.Equal(t, []string{saved[2].Name}, sent, "without one that was deleted here meanwhile")
	require.NoError(t, os.Rename(saved[4].Path+".away", saved[4].Path))
	sent, err = remote.SendMissing(t.Context(), local)
	require.NoError(t, err)
	require.Equal(t, []string{saved[4].Name}, sent, "it goes on from there")
	require.Equal(t, []string{saved[4].Name, saved[3].Name, saved[2].Name}, namesOf(t, remote))
	require.Empty(t, lacking())

	remote.Keep = retention.Rule{Last: 1}
	sent, err = remote.SendMissing(t.Context(), slices.Clone(saved))
	require.NoError(t, err)
	require.Empty(t, sent, "the rule would delete them again")
	require.Len(t, namesOf(t, remote), 3, "nothing was sent, so nothing is deleted")
}
