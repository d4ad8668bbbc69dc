package etcdsnapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
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
)

var (
	evening = time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)
	k3s     = etcdsnapshot.Cluster{Name: "k3s-dev", Talos: "v1.12.4", Kubernetes: "v1.35.4", Nodes: 3}
)

// database returns a database of etcd with revisions of keys.
func database(t *testing.T, revisions ...int64) []byte {
	t.Helper()
	return bucketOf(t, "key", func(bucket *bolt.Bucket) error {
		for _, revision := range revisions {
			key := binary.BigEndian.AppendUint64(nil, uint64(revision)) //nolint:gosec // positive
			key = binary.BigEndian.AppendUint64(append(key, '_'), 0)
			if err := bucket.Put(key, []byte("value")); err != nil {
				return err
			}
		}
		return nil
	})
}

func bucketOf(t *testing.T, name string, fill func(*bolt.Bucket) error) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(file, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucket([]byte(name))
		if err != nil {
			return err
		}
		return fill(bucket)
	}))
	require.NoError(t, db.Close())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// signed appends the checksum, as etcd does.
func signed(database []byte) []byte {
	sum := sha256.Sum256(database)
	return append(bytes.Clone(database), sum[:]...)
}

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
	db := database(t, 2, 3, 4711)
	sum := sha256.Sum256(db)

	saved, err := store.Save(evening, "before-up", k3s, writes(signed(db)))
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
	require.Equal(t, signed(db), text, "as etcd has sent it, with its checksum")
}

func TestWhatIsNoWholeSnapshotIsNotKept(t *testing.T) {
	t.Parallel()
	db := database(t, 2)
	altered := signed(db)
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
		{"a checksum alone", writes(signed(nil)), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"without its checksum", writes(db), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"without its last byte", writes(signed(db)[:len(db)+sha256.Size-1]), "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		{"a page less", writes(append(bytes.Clone(db[:len(db)-512]), signed(db)[len(db):]...)), "the snapshot does not have the checksum that etcd appended to it"},
		{"another byte", writes(altered), "the snapshot does not have the checksum that etcd appended to it"},
		{"no database", writes(signed(make([]byte, 64<<10))), "the snapshot is no database of etcd: invalid database"},
		{"damaged pages", writes(signed(damaged)), "the database in the snapshot is damaged: "},
		{"another database", writes(signed(bucketOf(t, "other", func(*bolt.Bucket) error { return nil }))), "the snapshot is no database of etcd: it has no bucket of keys"},
		{"other keys", writes(signed(bucketOf(t, "key", func(b *bolt.Bucket) error { return b.Put([]byte("short"), nil) }))), "the snapshot is no database of etcd: a key in it has no revision"},
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
	take := writes(signed(database(t, 2)))
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
	saved, err := store.Save(evening, "before-up", k3s, writes(signed(database(t, 2))))
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
