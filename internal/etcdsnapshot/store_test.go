package etcdsnapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
)

var (
	evening = time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)
	k3s     = etcdsnapshot.Cluster{Name: "k3s-dev", Talos: "v1.12.4", Kubernetes: "v1.35.4", Nodes: 3}
)

func writes(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
}

// newStore returns a store, and an identity that opens its snapshots.
func newStore(t *testing.T) (etcdsnapshot.Store, age.Identity) {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	return etcdsnapshot.Store{Dir: filepath.Join(t.TempDir(), "etcd"), Recipients: []age.Recipient{identity.Recipient()}}, identity
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, entry := range entries {
		about, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), about.Mode(), entry.Name())
		names = append(names, entry.Name())
	}
	return names
}

func TestASnapshotIsSealedAndDescribed(t *testing.T) {
	t.Parallel()
	store, identity := newStore(t)
	db := snapshottest.Database(t, 2, 3, 4711)
	sum := sha256.Sum256(db)

	saved, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(db)))
	require.NoError(t, err)
	require.Equal(t, etcdsnapshot.Snapshot{
		Name: "2026-11-20T22-15-00-before-up", Taken: evening, Reason: "before-up", Cluster: k3s,
		Contents: etcdsnapshot.Contents{Bytes: int64(len(db)), SHA256: hex.EncodeToString(sum[:]), Revision: 4711, Keys: 3},
		Path:     filepath.Join(store.Dir, "2026-11-20T22-15-00-before-up.snap.age"),
	}, saved)
	require.Equal(t, []string{"2026-11-20T22-15-00-before-up.json", "2026-11-20T22-15-00-before-up.snap.age"}, files(t, store.Dir), "and nothing in clear")

	listed, err := store.List()
	require.NoError(t, err)
	require.Equal(t, []etcdsnapshot.Snapshot{saved}, listed)

	sealed, err := os.ReadFile(saved.Path)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "value")
	opened, err := age.Decrypt(bytes.NewReader(sealed), identity)
	require.NoError(t, err)
	text, err := io.ReadAll(opened)
	require.NoError(t, err)
	require.Equal(t, snapshottest.Signed(db), text, "as etcd has sent it, with its checksum")
}

func TestWhatIsNoWholeSnapshotIsNotKept(t *testing.T) {
	t.Parallel()
	db := snapshottest.Database(t, 2)
	altered := snapshottest.Signed(db)
	altered[len(db)-1]++
	damaged := bytes.Clone(db)
	for i := 2 * os.Getpagesize(); i < len(damaged); i++ {
		damaged[i] = 0xff
	}
	for _, c := range []struct {
		name string
		take func(io.Writer) error
		want string
	}{
		{"nothing", writes(nil), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"a checksum alone", writes(snapshottest.Signed(nil)), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"without its checksum", writes(db), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"without its last byte", writes(snapshottest.Signed(db)[:len(db)+sha256.Size-1]), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"a page less", writes(append(bytes.Clone(db[:len(db)-512]), snapshottest.Signed(db)[len(db):]...)), "the snapshot does not have the checksum that etcd appended to it"},
		{"another byte", writes(altered), "the snapshot does not have the checksum that etcd appended to it"},
		{"no database", writes(snapshottest.Signed(make([]byte, 64<<10))), "the snapshot is no database of etcd: invalid database"},
		{"damaged pages", writes(snapshottest.Signed(damaged)), "the database in the snapshot is damaged: "},
		{"another database", writes(snapshottest.Signed(snapshottest.BucketOf(t, "other", func(*bolt.Bucket) error { return nil }))), "the snapshot is no database of etcd: it has no bucket of keys"},
		{"other keys", writes(snapshottest.Signed(snapshottest.BucketOf(t, "key", func(b *bolt.Bucket) error { return b.Put([]byte("short"), nil) }))), "the snapshot is no database of etcd: a key in it has no revision"},
		{"etcd fails", func(io.Writer) error { return errors.New("etcd on k8s-cp-1 gives no snapshot") }, "etcd on k8s-cp-1 gives no snapshot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, _ := newStore(t)
			_, err := store.Save(evening, "before-up", k3s, c.take)
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.want), err.Error())
			require.Empty(t, files(t, store.Dir))
		})
	}
}

func TestOldSnapshotsGo(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	store.Keep.Last = 2
	take := writes(snapshottest.Signed(snapshottest.Database(t, 2)))
	for i := range 3 {
		_, err := store.Save(evening.Add(time.Duration(i)*time.Second), "before-up", k3s, take)
		require.NoError(t, err)
	}
	_, err := store.Save(evening, "by-hand", k3s, take)
	require.NoError(t, err)
	again, err := store.Save(evening, "by-hand", k3s, take)
	require.NoError(t, err)
	require.Equal(t, "2026-11-20T22-15-00-by-hand-2", again.Name)

	listed, err := store.List()
	require.NoError(t, err)
	var names []string
	for _, snapshot := range listed {
		names = append(names, snapshot.Name)
	}
	require.ElementsMatch(t, []string{
		"2026-11-20T22-15-02-before-up", "2026-11-20T22-15-01-before-up", "2026-11-20T22-15-00-by-hand-2", "2026-11-20T22-15-00-by-hand",
	}, names)
	require.Len(t, files(t, store.Dir), 2*len(names), "the descriptions of the others went with them")
}

// TestASnapshotWithoutADescription is what a run that was killed between the two leaves behind.
func TestASnapshotWithoutADescription(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	saved, err := store.Save(evening, "before-up", k3s, writes(snapshottest.Signed(snapshottest.Database(t, 2))))
	require.NoError(t, err)
	description := strings.TrimSuffix(saved.Path, ".snap.age") + ".json"
	require.NoError(t, os.Remove(description))
	listed, err := store.List()
	require.NoError(t, err)
	require.Equal(t, []etcdsnapshot.Snapshot{{Name: saved.Name, Taken: evening, Reason: "before-up", Path: saved.Path}}, listed)

	require.NoError(t, os.WriteFile(description, []byte("{"), 0o600))
	_, err = store.List()
	require.EqualError(t, err, "description of the snapshot "+saved.Name+": unexpected end of JSON input: delete the file "+description+", the snapshot itself is not affected")
}
