package etcdsnapshot_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/retention"
)

// pod stores snapshots as talos-backup does: the stream of etcd to a file CLUSTER-TIME.snap, which may be compressed to ….zst, is sealed
// for one age key to ….age, and is uploaded under the name of the file.
type pod struct {
	t         *testing.T
	objects   etcdsnapshot.Objects
	recipient *age.X25519Recipient
}

func (p pod) store(cluster string, at time.Time, snapshot []byte, compress bool) (key string) {
	p.t.Helper()
	key = cluster + "-" + at.Format(time.RFC3339) + ".snap"
	if compress {
		var packed bytes.Buffer
		encoder, err := zstd.NewWriter(&packed)
		require.NoError(p.t, err)
		_, err = encoder.Write(snapshot)
		require.NoError(p.t, err)
		require.NoError(p.t, encoder.Close())
		key, snapshot = key+".zst", packed.Bytes()
	}
	var sealed bytes.Buffer
	writer, err := age.Encrypt(&sealed, p.recipient)
	require.NoError(p.t, err)
	_, err = writer.Write(snapshot)
	require.NoError(p.t, err)
	require.NoError(p.t, writer.Close())
	require.NoError(p.t, p.objects.Upload(p.t.Context(), key+".age", &sealed))
	return key + ".age"
}

// TestSnapshotsOfPodsOnAServer: they are listed, copied and opened, and deleted by the rule, on a server with the protocol of S3.
func TestSnapshotsOfPodsOnAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a server")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	objects, err := bucket.Open(t.Context(), s3test.Start(t), "k3s-dev/etcd", bucket.Limits{})
	require.NoError(t, err)
	defer func() { require.NoError(t, objects.Close()) }()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	by := pod{t, objects, identity.Recipient()}
	database := snapshottest.Database(t, 2, 3, 40)
	berlin := time.FixedZone("CET", 3600)
	by.store("k3s-dev", evening, snapshottest.Signed(database), false)
	by.store("k3s-dev", evening.Add(time.Hour).In(berlin), snapshottest.Signed(database), true)
	by.store("k3s-prod", evening, snapshottest.Signed(database), false)
	remote := etcdsnapshot.Remote{Objects: objects, Cluster: "k3s-dev", Keep: retention.Rule{Last: 1}}

	require.Equal(t, []string{"2026-11-20T23-15-00-scheduled", "2026-11-20T22-15-00-scheduled"}, namesOf(t, remote))
	listed, err := remote.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, etcdsnapshot.Snapshot{
		Name: "2026-11-20T23-15-00-scheduled", Taken: evening.Add(time.Hour), Reason: etcdsnapshot.Scheduled, Cluster: etcdsnapshot.Cluster{Name: "k3s-dev"},
	}, listed[0])
	for _, snapshot := range listed {
		store := etcdsnapshot.Store{Dir: t.TempDir()}
		fetched, err := remote.Fetch(t.Context(), snapshot, store)
		require.NoError(t, err)
		require.Equal(t, []string{snapshot.Name + ".snap.age"}, files(t, store.Dir), "it has no description")
		opened, err := store.Open(fetched, []age.Identity{identity})
		require.NoError(t, err, snapshot.Name)
		require.Equal(t, int64(40), opened.Revision)
		require.Equal(t, int64(len(database)), opened.Bytes)
		require.NoError(t, opened.Close())
	}

	deleted, err := remote.Prune(t.Context())
	require.NoError(t, err)
	require.Empty(t, deleted, "nothing but a name says whose they are")
	remote.OfPods = true
	deleted, err = remote.Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-20T22-15-00-scheduled"}, deleted)
	left, err := objects.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 2, "one of this cluster, and that of the other")
	_, err = remote.Fetch(t.Context(), listed[1], etcdsnapshot.Store{Dir: t.TempDir()})
	require.EqualError(t, err, "the bucket s3://states does not have the object of 2026-11-20T22-15-00-scheduled: list what is there")
}

// TestTheNewestSnapshotIsOfEither: a restore takes the newest one, no matter whether this tool or the cluster has stored it.
func TestTheNewestSnapshotIsOfEither(t *testing.T) {
	t.Parallel()
	store, _ := newStore(t)
	remote, _ := newRemote(t)
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	by := pod{t, remote.Objects, identity.Recipient()}
	send(t, remote, save(t, store, evening, k3s))
	by.store("k3s-dev", evening.Add(-time.Hour), []byte("x"), false)
	by.store("k3s-dev", evening.Add(time.Hour), []byte("x"), false)
	require.Equal(t, []string{"2026-11-20T23-15-00-scheduled", "2026-11-20T22-15-00-before-up", "2026-11-20T21-15-00-scheduled"}, namesOf(t, remote))
}

func TestNamesOfPods(t *testing.T) {
	t.Parallel()
	remote, _ := newRemote(t)
	write := func(key string) { require.NoError(t, remote.Objects.Write(context.Background(), key, []byte("x"))) }
	for _, key := range []string{
		"k3s-dev-2026-11-20T22:15:00Z.snap", "k3s-dev-2026-11-20T22:15:00Z.snap.zst", // in clear
		"k3s-dev-2026-11-20T22:15:00Z.snap.part.age", "k3s-dev-2026-02-30T22:15:00Z.snap.age", "k3s-dev-2026-11-20 22:15:00.snap.age",
		"dev-2026-11-20T22:15:00Z.snap.age", "my-k3s-dev-2026-11-20T22:15:00Z.snap.age", "before/k3s-dev-2026-11-20T22:15:00Z.snap.age",
	} {
		write(key)
	}
	require.Empty(t, namesOf(t, remote))
	write("k3s-dev-2026-11-20T22:15:00Z.snap.age")
	write("k3s-dev-2026-11-20T23:15:00+01:00.snap.zst.age")
	require.Equal(t, []string{"2026-11-20T22-15-00-scheduled-2", "2026-11-20T22-15-00-scheduled"}, namesOf(t, remote), "one second, in the order of their keys")
	remote.Keep, remote.OfPods = retention.Rule{Last: 1}, true
	deleted, err := remote.Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-20T22-15-00-scheduled"}, deleted)
	left, err := remote.Objects.List(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 9)
	require.NotContains(t, left, object.Object{Key: "k3s-dev-2026-11-20T22:15:00Z.snap.age", Bytes: 1})
}

// TestWhatIsDamagedInsideTheSeal: a user who may write to the bucket can seal anything for a public key.
func TestWhatIsDamagedInsideTheSeal(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		content  []byte
		compress bool
		want     string
	}{
		"cut off":            {snapshottest.Signed(snapshottest.Database(t, 2))[:1024], true, "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		"not compressed":     {append([]byte{0x28, 0xb5, 0x2f, 0xfd}, strings.Repeat("x", 600)...), false, "it is damaged or cut off: "},
		"empty":              {nil, false, "the snapshot is cut off: it does not end with the checksum that etcd appends"},
		"shorter than marks": {[]byte("x"), false, "the snapshot is cut off: it does not end with the checksum that etcd appends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote, _ := newRemote(t)
			pod{t, remote.Objects, identity.Recipient()}.store("k3s-dev", evening, test.content, test.compress)
			listed, err := remote.List(t.Context())
			require.NoError(t, err)
			store := etcdsnapshot.Store{Dir: t.TempDir()}
			fetched, err := remote.Fetch(t.Context(), listed[0], store)
			require.NoError(t, err)
			_, err = store.Open(fetched, []age.Identity{identity})
			require.ErrorContains(t, err, "the snapshot 2026-11-20T22-15-00-scheduled: "+test.want)
			require.Equal(t, []string{"2026-11-20T22-15-00-scheduled.snap.age"}, files(t, store.Dir), "nothing is left in clear")
		})
	}
}
