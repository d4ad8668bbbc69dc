package backup_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// newRemote returns the copies in a folder that stands for a bucket, and the folder with the objects.
func newRemote(t *testing.T, keep int) (backup.Remote, string) {
	t.Helper()
	folder := t.TempDir()
	objects, err := bucket.Open(t.Context(), address.OfFolder(folder), backup.Folder("em-infra", "k3s-dev"), bucket.Limits{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	return backup.Remote{Objects: objects, Keep: keep}, filepath.Join(folder, ".em-infra", "backups", "em-infra", "k3s-dev")
}

func inBucket(t *testing.T, remote backup.Remote) []string {
	t.Helper()
	found, err := remote.List(t.Context())
	require.NoError(t, err)
	var names []string
	for _, one := range found {
		names = append(names, one.Name)
	}
	return names
}

// send sends what the bucket lacks of a store, and returns the names.
func send(t *testing.T, remote backup.Remote, store backup.Store) []string {
	t.Helper()
	local, err := store.List()
	require.NoError(t, err)
	_, missing, err := remote.Compare(t.Context(), local)
	require.NoError(t, err)
	sent, err := remote.Send(t.Context(), local)
	require.NoError(t, err)
	require.Len(t, missing, len(sent))
	return sent
}

// TestABackupComesBackOnAnotherMachine: as it is, and by the rule that holds here as well.
func TestABackupComesBackOnAnotherMachine(t *testing.T) {
	t.Parallel()
	store, elsewhere := backup.Store{Dir: t.TempDir(), Keep: 5}, backup.Store{Dir: filepath.Join(t.TempDir(), "k3s-dev")}
	remote, folder := newRemote(t, 2)
	for hour, text := range []string{"first", "second", "third"} {
		_, err := store.Save(noon.Add(time.Duration(hour)*time.Hour), "up", []byte(text))
		require.NoError(t, err)
	}
	_, err := store.Save(noon, "by-hand", []byte("seldom"))
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-21T14-00-00-up", "2026-11-21T13-00-00-up", "2026-11-21T12-00-00-by-hand"}, send(t, remote, store), "what the rule keeps there")
	require.Empty(t, send(t, remote, store), "they are there")
	for _, other := range []string{"notes.txt", "2026-11-21T12-00-00-up.json.bak", "x.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, other), nil, 0o600))
	}

	_, err = elsewhere.Save(noon.Add(3*time.Hour), "up", []byte("fourth"))
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-21T15-00-00-up"}, send(t, remote, elsewhere))
	require.Equal(t, []string{"2026-11-21T15-00-00-up", "2026-11-21T14-00-00-up", "2026-11-21T12-00-00-by-hand"}, inBucket(t, remote))
	require.Empty(t, send(t, remote, store), "what was deleted there is not sent again")
	require.FileExists(t, filepath.Join(folder, "notes.txt"))

	found, err := remote.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, backup.Backup{Name: "2026-11-21T14-00-00-up", Taken: noon.Add(2 * time.Hour), Reason: "up", Bytes: 5}, found[1])
	fetched, err := remote.Fetch(t.Context(), found[1], elsewhere)
	require.NoError(t, err)
	text, err := fetched.Text()
	require.NoError(t, err)
	require.Equal(t, "third", string(text))
	local, err := elsewhere.List()
	require.NoError(t, err)
	merged := backup.Merge(local, found)
	require.Len(t, merged, 3)
	require.Equal(t, backup.Copied{Backup: local[0], Local: true, Bucket: true}, merged[0])
	require.Equal(t, backup.Copied{Backup: found[2], Bucket: true}, merged[2])

	_, err = remote.Fetch(t.Context(), backup.Backup{Name: "2026-11-20T14-00-00-up"}, elsewhere)
	require.ErrorIs(t, err, object.ErrNotFound)
	require.Equal(t, []string{"2026-11-21T15-00-00-up", "2026-11-21T14-00-00-up"}, names(t, elsewhere))
}

// TestASendThatFailsGoesOnLater: it returns what was sent, and a backup that cannot be read stays for the next time.
func TestASendThatFailsGoesOnLater(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	remote, _ := newRemote(t, 0)
	for minute, text := range []string{"first", "second"} {
		_, err := store.Save(noon.Add(time.Duration(minute)*time.Minute), "up", []byte(text))
		require.NoError(t, err)
	}
	local, err := store.List()
	require.NoError(t, err)
	unreadable := local[1]
	unreadable.Path = t.TempDir()
	sent, err := remote.Send(t.Context(), []backup.Backup{local[0], unreadable})
	require.ErrorContains(t, err, "is a directory")
	require.Equal(t, []string{"2026-11-21T12-01-00-up"}, sent)
	unreadable.Path = filepath.Join(t.TempDir(), "deleted meanwhile")
	sent, err = remote.Send(t.Context(), []backup.Backup{local[0], unreadable})
	require.NoError(t, err)
	require.Empty(t, sent)
	require.Equal(t, []string{"2026-11-21T12-00-00-up"}, send(t, remote, store))
}

// TestBackupsInABucketNameTheirPassphrase: a machine that still has them under their old names does not send them once more.
func TestBackupsInABucketNameTheirPassphrase(t *testing.T) {
	t.Parallel()
	store, other := backup.Store{Dir: t.TempDir()}, backup.Store{Dir: t.TempDir()}
	remote, _ := newRemote(t, 0)
	for minute, text := range []string{"former", "new"} {
		for _, machine := range []backup.Store{store, other} {
			_, err := machine.Save(noon.Add(time.Duration(minute)*time.Minute), "up", []byte(text))
			require.NoError(t, err)
		}
	}
	require.Len(t, send(t, remote, store), 2)
	opens := func(text []byte) (bool, error) { return string(text) == "new", nil }
	marked := []string{"2026-11-21T12-01-00-up", "2026-11-21T12-00-00-up-former-passphrase"}
	_, _, err := store.MarkFormer(opens)
	require.NoError(t, err)
	for range 2 {
		unread, err := remote.MarkFormer(t.Context(), opens)
		require.NoError(t, err)
		require.Empty(t, unread)
		require.Equal(t, marked, inBucket(t, remote))
	}
	require.Empty(t, send(t, remote, store))
	require.Empty(t, send(t, remote, other))
	unread, err := remote.MarkFormer(t.Context(), func([]byte) (bool, error) { return false, errors.New("it is torn") })
	require.NoError(t, err, "one that is damaged stops no rotation")
	require.Len(t, unread, 1)
	require.ErrorContains(t, unread[0], "2026-11-21T12-01-00-up in file://")
}

// TestANewBackupIsSent, even if the clock of a machine was ahead when others were made, so that they count as newer.
func TestANewBackupIsSent(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir(), Keep: 1}
	remote, _ := newRemote(t, 1)
	ahead, err := store.Save(noon.AddDate(1, 0, 0), "up", []byte("first"))
	require.NoError(t, err)
	require.Equal(t, []string{ahead.Name}, send(t, remote, store))
	made, err := store.Save(noon, "up", []byte("second"))
	require.NoError(t, err)
	local, err := store.List()
	require.NoError(t, err)
	sent, err := remote.Send(t.Context(), local, made.Name)
	require.NoError(t, err)
	require.Equal(t, []string{made.Name}, sent)
	require.Contains(t, inBucket(t, remote), made.Name)
	_, err = remote.Send(t.Context(), local, made.Name)
	require.NoError(t, err)
	require.Contains(t, inBucket(t, remote), made.Name, "it stays as long as it is the one that was made")
}
