package etcdsnapshot_test

import (
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
)

func TestAPassphraseOpensASnapshot(t *testing.T) {
	t.Parallel()
	store, other := newStore(t)
	phrase := rand.Text()
	recipient, err := etcdsnapshot.WithPassphrase(phrase)
	require.NoError(t, err)
	store.Recipients = []age.Recipient{recipient}
	saved, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
	require.NoError(t, err)

	identity, err := etcdsnapshot.OpenedByPassphrase(phrase)
	require.NoError(t, err)
	opened, err := store.Open(saved, []age.Identity{other, identity})
	require.NoError(t, err)
	require.Equal(t, saved.Contents, opened.Contents)
	require.Equal(t, snapshottest.Signed(snapshottest.Database(t, 2)), textOf(t, opened))
	require.Len(t, files(t, store.Dir), 2, "in clear it has no name")
	require.NoError(t, opened.Close())

	wrong, err := etcdsnapshot.OpenedByPassphrase(rand.Text())
	require.NoError(t, err)
	for _, identities := range [][]age.Identity{{wrong}, {wrong, other}, {}} {
		_, err = store.Open(saved, identities)
		require.ErrorIs(t, err, etcdsnapshot.ErrSealed)
		require.EqualError(t, err, "the snapshot 2026-11-20T22-15-00-before-up: it is sealed for others")
	}
}

func TestWhatIsNoSoundSnapshotIsNotOpened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, store etcdsnapshot.Store, saved etcdsnapshot.Snapshot)
		want  string
	}{
		{"cut off", func(t *testing.T, _ etcdsnapshot.Store, saved etcdsnapshot.Snapshot) {
			about, err := os.Stat(saved.Path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(saved.Path, about.Size()-1))
		}, "it is damaged or cut off: failed to decrypt and authenticate payload chunk"},
		{"altered", func(t *testing.T, _ etcdsnapshot.Store, saved etcdsnapshot.Snapshot) {
			text, err := os.ReadFile(saved.Path)
			require.NoError(t, err)
			text[len(text)/2] ^= 1
			require.NoError(t, os.WriteFile(saved.Path, text, 0o600))
		}, "it is damaged or cut off: failed to decrypt and authenticate payload chunk"},
		{"in clear", func(t *testing.T, _ etcdsnapshot.Store, saved etcdsnapshot.Snapshot) {
			require.NoError(t, os.WriteFile(saved.Path, snapshottest.Signed(snapshottest.Database(t, 2)), 0o600))
		}, "it is no file of age: "},
		{"another snapshot", func(t *testing.T, store etcdsnapshot.Store, saved etcdsnapshot.Snapshot) {
			other, err := store.Save(evening, "by-hand", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2, 3))))
			require.NoError(t, err)
			require.NoError(t, os.Rename(other.Path, saved.Path))
		}, "it has revision 3 and checksum "},
		{"gone", func(t *testing.T, _ etcdsnapshot.Store, saved etcdsnapshot.Snapshot) {
			require.NoError(t, os.Remove(saved.Path))
		}, "open "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, identity := newStore(t)
			saved, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
			require.NoError(t, err)
			c.spoil(t, store, saved)
			_, err = store.Open(saved, []age.Identity{identity})
			require.ErrorContains(t, err, "the snapshot 2026-11-20T22-15-00-before-up: "+c.want)
			left, err := filepath.Glob(filepath.Join(store.Dir, "new-*"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// A snapshot without a description, as a killed run leaves it, is opened by what it contains.
func TestASnapshotWithoutADescriptionIsOpened(t *testing.T) {
	t.Parallel()
	store, identity := newStore(t)
	saved, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
	require.NoError(t, err)
	bare := etcdsnapshot.Snapshot{Name: saved.Name, Path: saved.Path}
	opened, err := store.Open(bare, []age.Identity{identity})
	require.NoError(t, err)
	require.Equal(t, saved.Contents, opened.Contents)
	require.NoError(t, opened.Close())
}

func TestASnapshotIsFoundByItsName(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	_, err := store.Find("")
	require.ErrorIs(t, err, etcdsnapshot.ErrNone)
	first, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
	require.NoError(t, err)
	second, err := store.Save(evening.AddDate(0, 0, 1), "by-hand", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2, 3))))
	require.NoError(t, err)
	for name, want := range map[string]etcdsnapshot.Snapshot{"": second, first.Name: first, second.Name: second} {
		found, err := store.Find(name)
		require.NoError(t, err)
		require.Equal(t, want, found, name)
	}
	_, err = store.Find("yesterday")
	require.EqualError(t, err, `there is no snapshot "yesterday": choose one that `+"`em-infra etcd list` shows")
}

func textOf(t *testing.T, opened *etcdsnapshot.Opened) []byte {
	t.Helper()
	from, err := opened.Reader()
	require.NoError(t, err)
	text, err := io.ReadAll(from)
	require.NoError(t, err)
	return text
}
