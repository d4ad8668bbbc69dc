package backup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func names(t *testing.T, store backup.Store) []string {
	t.Helper()
	backups, err := store.List()
	require.NoError(t, err)
	var names []string
	for _, b := range backups {
		names = append(names, b.Name)
	}
	return names
}

func TestSaveAndFind(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: filepath.Join(t.TempDir(), "backups", "k3s-dev")}
	require.Empty(t, names(t, store), "no folder, no backups")
	_, err := store.Find("")
	require.ErrorIs(t, err, backup.ErrNone)

	east := time.FixedZone("UTC+9", 9*60*60)
	saved, err := store.Save(noon.In(east), "up", []byte("first"))
	require.NoError(t, err)
	require.Equal(t, backup.Backup{
		Name: "2026-11-21T12-00-00-up", Taken: noon, Reason: "up", Path: filepath.Join(store.Dir, "2026-11-21T12-00-00-up.json"), Bytes: 5,
	}, saved)
	info, err := os.Stat(saved.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	newest, err := store.Save(noon.Add(time.Second), "by-hand", []byte("second"))
	require.NoError(t, err)
	found, err := store.Find("")
	require.NoError(t, err)
	require.Equal(t, newest, found)
	found, err = store.Find(saved.Name)
	require.NoError(t, err)
	text, err := found.Text()
	require.NoError(t, err)
	require.Equal(t, "first", string(text))

	_, err = store.Find("2026-11-21T12-00-00-down")
	require.EqualError(t, err, "there is no backup \"2026-11-21T12-00-00-down\": choose one that `em-infra state list` shows")
}

func TestSaveTwiceInASecond(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	for turn := range 11 {
		_, err := store.Save(noon, "up", []byte{byte(turn)})
		require.NoError(t, err)
	}
	found := names(t, store)
	require.Equal(t, "2026-11-21T12-00-00-up-11", found[0])
	require.Equal(t, "2026-11-21T12-00-00-up-10", found[1], "ten comes after nine")
	require.Equal(t, "2026-11-21T12-00-00-up", found[10])
}

func TestWhatIsKeptAlreadyIsNotKeptAgain(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	first, err := store.Save(noon, "after-up", []byte("state"))
	require.NoError(t, err)
	again, err := store.Save(noon.Add(time.Hour), "before-up", []byte("state"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	changed, err := store.Save(noon.Add(2*time.Hour), "before-up", []byte("changed state"))
	require.NoError(t, err)
	require.Equal(t, "2026-11-21T14-00-00-before-up", changed.Name)
}

func TestTheOldestGoFirst(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir(), Keep: 3}
	for hour := range 5 {
		_, err := store.Save(noon.Add(time.Duration(hour)*time.Hour), "up", []byte{byte(hour)})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"2026-11-21T16-00-00-up", "2026-11-21T15-00-00-up", "2026-11-21T14-00-00-up"}, names(t, store))
}

func TestEachReasonHasItsOwnOldest(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir(), Keep: 1}
	for hour, reason := range []string{"by-hand", "before-up", "after-up", "before-up", "after-up"} {
		_, err := store.Save(noon.Add(time.Duration(hour)*time.Hour), reason, []byte{byte(hour)})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"2026-11-21T16-00-00-after-up", "2026-11-21T15-00-00-before-up", "2026-11-21T12-00-00-by-hand"}, names(t, store))
}

func TestTwentyStay(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	for i := range retention.Default + 5 {
		_, err := store.Save(noon.Add(time.Duration(i)*time.Second), "up", []byte{byte(i)})
		require.NoError(t, err)
	}
	require.Len(t, names(t, store), 20)
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir(), Keep: 1}
	for i, name := range []string{"notes.txt", "copy of 2026-11-21T12-00-00-up.json", "new-123", "2026-11-21T12-00-00-.json"} {
		require.NoError(t, os.WriteFile(filepath.Join(store.Dir, name), fmt.Appendf(nil, "%d", i), 0o600))
	}
	for turn := range 2 {
		_, err := store.Save(noon, "up", []byte{byte(turn)})
		require.NoError(t, err)
	}
	require.Equal(t, []string{"2026-11-21T12-00-00-up-2"}, names(t, store))
	left, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Len(t, left, 5)
}

func TestAFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := backup.Store{Dir: file}.Save(noon, "up", nil)
	require.EqualError(t, err, "folder of the backups: mkdir "+file+": not a directory")
}

// TestAReplacedStateThatIsThereAgain is backed up under the reason of the run: a restore takes no backup of a state that one has replaced.
func TestAReplacedStateThatIsThereAgain(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	at := time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)
	for _, reason := range []string{"before-restore", "before-restore", "after-up", "before-restore"} {
		_, err := store.Save(at, reason, []byte("the same"))
		require.NoError(t, err)
		at = at.Add(time.Minute)
	}
	all, err := store.List()
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "2026-11-20T22-17-00-after-up", all[0].Name)
	require.False(t, all[0].IsReplaced())
	require.True(t, all[1].IsReplaced())
}

// TestANewBackupStays, even if the clock of this machine was wrong when others were made, so that they count as newer.
func TestANewBackupStays(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir(), Keep: 1}
	for _, at := range []time.Time{noon.AddDate(1, 0, 0), noon} {
		saved, err := store.Save(at, "before-up", []byte(at.String()))
		require.NoError(t, err)
		require.FileExists(t, saved.Path)
	}
}
