package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/retention"
)

// projectWithBucket is a project whose inventory names a bucket.
func projectWithBucket(t *testing.T, url string) (root string) {
	t.Helper()
	root = project(t)
	writeFile(t, filepath.Join(root, "stacks/k3s-dev/cluster.yaml"), soundCluster+"backups: {bucket: \""+url+"\", keep: {last: 1, daily: 0, weekly: 0}}\n")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"} {
		t.Setenv(name, value)
	}
	return root
}

// anotherMachine takes two snapshots, an hour apart, and stores them in the bucket. It returns the key that opens them.
func anotherMachine(t *testing.T, url string) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	store := etcdsnapshot.Store{Dir: t.TempDir(), Recipients: []age.Recipient{identity.Recipient()}}
	objects, err := bucket.Open(t.Context(), url, path.Join("k3s-dev", "etcd"), bucket.Limits{})
	require.NoError(t, err)
	remote := etcdsnapshot.Remote{Objects: objects, Cluster: "lab", Keep: retention.Rule{Last: 2}}
	of := etcdsnapshot.Cluster{Name: "lab", Talos: "v1.12.4", Kubernetes: "v1.35.4", Nodes: 2}
	text := snapshottest.Signed(snapshottest.Database(t, 2, 4711))
	for hour := range 2 {
		saved, err := store.Save(time.Date(2026, 11, 20, 20+hour, 0, 0, 0, time.UTC), "by-hand", of, func(to io.Writer) error {
			_, err := to.Write(text)
			return err
		})
		require.NoError(t, err)
		sent, err := remote.SendMissing(t.Context(), []etcdsnapshot.Snapshot{saved})
		require.NoError(t, err)
		require.Equal(t, []string{saved.Name}, sent)
	}
	require.NoError(t, objects.Close())
	return identity
}

// TestSnapshotsInABucketAreUsedHere, on a machine that has none of its own, against an S3 server.
func TestSnapshotsInABucketAreUsedHere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	url := s3test.Start(t)
	root := projectWithBucket(t, url)
	identity := anotherMachine(t, url)
	writeFile(t, filepath.Join(root, "key.txt"), identity.String())
	t.Setenv("SOPS_AGE_KEY_FILE", filepath.Join(root, "key.txt"))

	require.Equal(t, outcome{out: `NAME                         REVISION  TALOS    KUBERNETES  SIZE    WHERE
2026-11-20T21-00-00-by-hand  4711      v1.12.4  v1.35.4     32 KiB  bucket
2026-11-20T20-00-00-by-hand  4711      v1.12.4  v1.35.4     32 KiB  bucket
`}, em(t.Context(), "etcd", "list", "--stack", "k3s-dev"))

	verified := em(t.Context(), "etcd", "verify", "--stack", "k3s-dev")
	require.Zero(t, verified.code, verified.err)
	require.Contains(t, verified.out, "the snapshot 2026-11-20T21-00-00-by-hand is copied from s3://states\n")
	require.Contains(t, verified.out, "2026-11-20T21-00-00-by-hand is sound: revision 4711, 2 revisions of keys, 32 KiB, SHA-256 ")
	require.FileExists(t, filepath.Join(root, ".backups/k3s-dev/etcd/2026-11-20T21-00-00-by-hand.snap.age"))
	again := em(t.Context(), "etcd", "verify", "--stack", "k3s-dev")
	require.NotContains(t, again.out, "copied", "it is here now")
	sealed := filepath.Join(root, ".backups/k3s-dev/etcd/2026-11-20T21-00-00-by-hand.snap.age")
	about, err := os.Stat(sealed)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(sealed, about.Size()-1))
	require.Equal(t, refusal("the snapshot 2026-11-20T21-00-00-by-hand: it is damaged or cut off: failed to decrypt and authenticate payload chunk; see `em-infra etcd list --stack k3s-dev` for another one, or take one with `em-infra etcd snapshot --stack k3s-dev`"),
		em(t.Context(), "etcd", "verify", "--stack", "k3s-dev"))
	require.Contains(t, em(t.Context(), "etcd", "list", "--stack", "k3s-dev").out, "both\n")
	require.Contains(t, em(t.Context(), "etcd", "list", "--stack", "k3s-dev", "--output", "json").out, `"local": true,`)

	require.Equal(t, outcome{out: "nothing to copy: s3://states has the snapshots that the rule keeps\n"}, em(t.Context(), "etcd", "copy", "--stack", "k3s-dev"))
	standIn := address.OfFolder(t.TempDir())
	require.Equal(t, outcome{out: "copied to " + standIn + ", which lacked it: 2026-11-20T21-00-00-by-hand\n"}, em(t.Context(), "etcd", "copy", "--stack", "k3s-dev", "--bucket", standIn))
	require.Equal(t, outcome{out: "{\n  \"bucket\": \"" + standIn + "\",\n  \"sent\": []\n}\n"}, em(t.Context(), "etcd", "copy", "--stack", "k3s-dev", "--bucket", standIn, "--output", "json"))

	require.Equal(t, outcome{out: "deleted 2026-11-20T20-00-00-by-hand in s3://states\n"}, em(t.Context(), "etcd", "prune", "--stack", "k3s-dev"))
	require.Equal(t, outcome{out: "nothing to delete: the rule keeps all snapshots\n"}, em(t.Context(), "etcd", "prune", "--stack", "k3s-dev"))
	require.Equal(t, refusal("there is no snapshot \"2026-11-20T20-00-00-by-hand\": choose one that `em-infra etcd list --stack k3s-dev` shows"),
		em(t.Context(), "etcd", "verify", "--stack", "k3s-dev", "--snapshot", "2026-11-20T20-00-00-by-hand"))
}

// TestSnapshotsThatTheClusterStoresItself: they are read like the others, and deleted by the same rule while the addon is there.
func TestSnapshotsThatTheClusterStoresItself(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	url := s3test.Start(t)
	root := projectWithBucket(t, url)
	identity := anotherMachine(t, url)
	writeFile(t, filepath.Join(root, "key.txt"), identity.String())
	t.Setenv("SOPS_AGE_KEY_FILE", filepath.Join(root, "key.txt"))
	objects, err := bucket.Open(t.Context(), url, "k3s-dev/etcd", bucket.Limits{})
	require.NoError(t, err)
	for _, key := range []string{"lab-2026-11-20T18:00:00Z.snap.age", "lab-2026-11-21T00:00:04Z.snap.age"} {
		sealed, writer := io.Pipe()
		go func() {
			to, err := age.Encrypt(writer, identity.Recipient())
			if err == nil {
				_, err = to.Write(snapshottest.Signed(snapshottest.Database(t, 2, 4800)))
				err = errors.Join(err, to.Close())
			}
			writer.CloseWithError(err)
		}()
		require.NoError(t, objects.Upload(t.Context(), key, sealed))
	}
	require.NoError(t, objects.Close())

	require.Equal(t, outcome{out: `NAME                           REVISION  TALOS    KUBERNETES  SIZE    WHERE
2026-11-21T00-00-04-scheduled  unknown                                bucket
2026-11-20T21-00-00-by-hand    4711      v1.12.4  v1.35.4     32 KiB  bucket
2026-11-20T20-00-00-by-hand    4711      v1.12.4  v1.35.4     32 KiB  bucket
2026-11-20T18-00-00-scheduled  unknown                                bucket
`}, em(t.Context(), "etcd", "list", "--stack", "k3s-dev"))
	verified := em(t.Context(), "etcd", "verify", "--stack", "k3s-dev")
	require.Zero(t, verified.code, verified.err)
	require.Contains(t, verified.out, "the snapshot 2026-11-21T00-00-04-scheduled is copied from s3://states\n")
	require.Contains(t, verified.out, "2026-11-21T00-00-04-scheduled is sound: revision 4800, 2 revisions of keys, 32 KiB, SHA-256 ")
	require.FileExists(t, filepath.Join(root, ".backups/k3s-dev/etcd/2026-11-21T00-00-04-scheduled.snap.age"))
	require.Contains(t, em(t.Context(), "etcd", "verify", "--stack", "k3s-dev", "--snapshot", "2026-11-20T18-00-00-scheduled").out, "is sound: revision 4800")

	require.NotContains(t, em(t.Context(), "etcd", "prune", "--stack", "k3s-dev").out, "scheduled in s3://states")
	inventory := filepath.Join(root, "stacks/k3s-dev/cluster.yaml")
	text, err := os.ReadFile(inventory)
	require.NoError(t, err)
	writeFile(t, inventory, string(text)+"addons: {etcdBackup: {recipient: "+identity.Recipient().String()+"}}\n")
	require.Equal(t, outcome{out: "deleted 2026-11-20T18-00-00-scheduled in s3://states\n"}, em(t.Context(), "etcd", "prune", "--stack", "k3s-dev"))
}

// TestABucketThatDoesNotLetYouIn: the snapshots on this machine are used, and the reason is printed with them.
func TestABucketThatDoesNotLetYouIn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "<Error><Code>InvalidAccessKeyId</Code></Error>")
	}))
	t.Cleanup(server.Close)
	root := projectWithBucket(t, "s3://backups?region=us-east-1&use_path_style=true&endpoint="+server.URL)
	const why = "the bucket s3://backups does not accept the key (InvalidAccessKeyId): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to one that may list, read, write and delete there"

	require.Equal(t, refusal("stack k3s-dev has no snapshot of etcd in .backups/k3s-dev/etcd, and the bucket cannot be listed, because "+why),
		em(t.Context(), "etcd", "verify", "--stack", "k3s-dev"))
	listed := em(t.Context(), "etcd", "list", "--stack", "k3s-dev")
	require.Equal(t, "no snapshots of etcd of stack k3s-dev in .backups/k3s-dev/etcd; up takes them\n", listed.out)
	require.Contains(t, strings.Join(strings.Fields(listed.err), " "), "warning: snapshots in the bucket are not listed, because "+why)
	pruned := em(t.Context(), "etcd", "prune", "--stack", "k3s-dev")
	require.Equal(t, outcome{err: why + "\n", code: exitFailed}, pruned)
	require.NoDirExists(t, filepath.Join(root, ".backups"))
	require.NoError(t, os.RemoveAll(root))
}
