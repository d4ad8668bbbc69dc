package etcdsnapshot_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/retention"
)

// newRemote returns the copies in a folder that stands for a bucket, and the folder with the objects.
func newRemote(t *testing.T) (etcdsnapshot.Remote, string) {
	t.Helper()
	folder := t.TempDir()
	objects, err := bucket.Open(t.Context(), address.OfFolder(folder), "k3s-dev/etcd", bucket.Limits{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	return etcdsnapshot.Remote{Objects: objects, Cluster: "k3s-dev"}, filepath.Join(folder, "k3s-dev", "etcd")
}

func save(t *testing.T, store etcdsnapshot.Store, at time.Time, of etcdsnapshot.Cluster) etcdsnapshot.Snapshot {
	t.Helper()
	saved, err := store.Save(at, "before-up", of, writes(snapshottest.Signed(snapshottest.Database(t, 2, 3))))
	require.NoError(t, err)
	return saved
}

// send copies a snapshot into the bucket, which lacks it.
func send(t *testing.T, remote etcdsnapshot.Remote, snapshot etcdsnapshot.Snapshot) {
	t.Helper()
	sent, err := remote.SendMissing(t.Context(), []etcdsnapshot.Snapshot{snapshot})
	require.NoError(t, err)
	require.Equal(t, []string{snapshot.Name}, sent)
}

// objects returns the names of the files in a folder that stands for a bucket.
func objects(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func namesOf(t *testing.T, remote etcdsnapshot.Remote) (names []string) {
	t.Helper()
	found, err := remote.Names(t.Context())
	require.NoError(t, err)
	for _, name := range found {
		names = append(names, name.String())
	}
	return names
}

// TestASnapshotComesBackOnAnotherMachine: the identity that it was sealed for opens it there.
func TestASnapshotComesBackOnAnotherMachine(t *testing.T) {
	t.Parallel()
	store, identity := newStore(t)
	remote, folder := newRemote(t)
	saved := save(t, store, evening, k3s)
	send(t, remote, saved)
	require.Equal(t, []string{"2026-11-20T22-15-00-before-up.json", "2026-11-20T22-15-00-before-up.snap.age"}, objects(t, folder))

	listed, err := remote.List(t.Context())
	require.NoError(t, err)
	inBucket := saved
	inBucket.Path = ""
	require.Equal(t, []etcdsnapshot.Snapshot{inBucket}, listed)
	require.Equal(t, []etcdsnapshot.Copied{{Snapshot: saved, Local: true, Bucket: true}}, etcdsnapshot.Merge([]etcdsnapshot.Snapshot{saved}, listed))
	require.Equal(t, []etcdsnapshot.Copied{{Snapshot: inBucket, Bucket: true}}, etcdsnapshot.Merge(nil, listed))

	elsewhere := etcdsnapshot.Store{Dir: filepath.Join(t.TempDir(), "etcd")}
	fetched, err := remote.Fetch(t.Context(), listed[0], elsewhere)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(elsewhere.Dir, filepath.Base(saved.Path)), fetched.Path)
	require.Equal(t, []string{"2026-11-20T22-15-00-before-up.json", "2026-11-20T22-15-00-before-up.snap.age"}, files(t, elsewhere.Dir))
	found, err := elsewhere.Find("")
	require.NoError(t, err)
	require.Equal(t, fetched, found)
	opened, err := elsewhere.Open(found, []age.Identity{identity})
	require.NoError(t, err)
	require.Equal(t, saved.Contents, opened.Contents)
	require.NoError(t, opened.Close())
}

// TestTheBucketKeepsByTheSameRule: everything stays that this tool has not stored there for this cluster.
func TestTheBucketKeepsByTheSameRule(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	remote, folder := newRemote(t)
	other := remote
	other.Cluster = "k3s-prod"
	theirs := save(t, store, evening.Add(-time.Hour), etcdsnapshot.Cluster{Name: "k3s-prod"})
	send(t, other, theirs)
	for _, file := range []string{
		"2026-11-19T22-15-00-before-up.snap.age",                                       // without a description
		"2026-11-18T22-15-00-before-up.snap.age", "2026-11-18T22-15-00-before-up.json", // with another tool's
		"2026-11-17T22-15-00-before-up.json", "k3s-dev-2026-11-20T22:15:00Z.snap.age", "x", // what is no snapshot of ours
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte("{}"), 0o600))
	}
	before := objects(t, folder)

	remote.Keep, store.Keep = retention.Rule{Last: 2}, retention.Rule{Last: 100}
	var saved []etcdsnapshot.Snapshot
	for i := range 3 {
		saved = append(saved, save(t, store, evening.Add(time.Duration(i)*time.Second), k3s))
		send(t, remote, saved[i])
	}
	require.Equal(t, []string{
		"2026-11-20T22-15-02-before-up", "2026-11-20T22-15-01-before-up", "2026-11-20T22-15-00-scheduled", theirs.Name, "2026-11-19T22-15-00-before-up", "2026-11-18T22-15-00-before-up",
	}, namesOf(t, remote))
	require.Subset(t, objects(t, folder), before)
	require.Len(t, objects(t, folder), len(before)+4, "two snapshots of ours, with their descriptions")

	remote.Keep.Last = 1
	deleted, err := remote.Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-20T22-15-01-before-up"}, deleted)
	require.Subset(t, objects(t, folder), before)
	sent, err := remote.SendMissing(t.Context(), saved[2:])
	require.NoError(t, err)
	require.Empty(t, sent, "one of that name is there, and nothing that is there is replaced")
}

// TestACopyThatWasCutOff leaves a description at most, which is no snapshot and is overwritten by the next one of that name.
func TestACopyThatWasCutOff(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	remote, folder := newRemote(t)
	saved := save(t, store, evening, k3s)
	send(t, remote, saved)
	require.NoError(t, os.Remove(filepath.Join(folder, filepath.Base(saved.Path))))
	listed, err := remote.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, listed)
	deleted, err := remote.Prune(t.Context())
	require.NoError(t, err)
	require.Empty(t, deleted)
	send(t, remote, saved)
	require.Equal(t, []string{saved.Name}, namesOf(t, remote))
}

// TestAFetchThatFails leaves nothing that could be taken for a snapshot.
func TestAFetchThatFails(t *testing.T) {
	t.Parallel()
	remote, _ := newRemote(t)
	store := etcdsnapshot.Store{Dir: filepath.Join(t.TempDir(), "etcd")}
	_, err := remote.Fetch(t.Context(), etcdsnapshot.Snapshot{Name: "2026-11-20T22-15-00-before-up"}, store)
	require.ErrorIs(t, err, object.ErrNotFound)
	require.Empty(t, files(t, store.Dir))
}

// TestABucketThatRefuses does not touch the local copy.
func TestABucketThatRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = strings.NewReader("<Error><Code>AccessDenied</Code></Error>").WriteTo(w)
	}))
	t.Cleanup(server.Close)
	objects, err := bucket.Open(t.Context(), "s3://backups?anonymous=true&region=us-east-1&use_path_style=true&endpoint="+server.URL, "k3s-dev/etcd", bucket.Limits{})
	require.NoError(t, err)
	store, _ := newStore(t)
	saved := save(t, store, evening, k3s)
	remote := etcdsnapshot.Remote{Objects: objects, Cluster: "k3s-dev"}
	const refused = "the bucket s3://backups refuses the key (AccessDenied): give the key rights, with which it may list, read, write and delete there"
	_, err = remote.SendMissing(t.Context(), []etcdsnapshot.Snapshot{saved})
	require.EqualError(t, err, refused)
	_, err = remote.Prune(t.Context())
	require.EqualError(t, err, refused)
	require.Len(t, files(t, store.Dir), 2)
	require.NoError(t, objects.Close())
}
