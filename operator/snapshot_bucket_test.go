package operator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/s3test"
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// keepIn keeps a snapshot of a cluster whose inventory names that bucket.
func keepIn(t *testing.T, bucket string, options stacks.Options) (stacks.KeptSnapshot, error) {
	t.Helper()
	text := snapshottest.Signed(snapshottest.Database(t, 2, 3))
	inv := &inventory.Inventory{}
	inv.Cluster.Name = "k3s-dev"
	if bucket != "" {
		require.NoError(t, inv.Cluster.Backups.Bucket.UnmarshalText([]byte(bucket)))
	}
	options.CopySnapshots, options.Env = operator.CopySnapshots, map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}
	return stacks.KeepSnapshot(t.Context(), "home", inv, options, stacks.SnapshotRequest{
		At: time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC), Reason: "before-up",
		Of: components.EtcdSnapshot{Talos: "v1.12.4", Take: func(to io.Writer) error {
			_, err := to.Write(text)
			return err
		}},
	})
}

// TestASnapshotIsKeptInBothPlaces, and here when the bucket does not take it: the text says why, in one sentence that ends with what to do.
func TestASnapshotIsKeptInBothPlaces(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = strings.NewReader("<Error><Code>AccessDenied</Code></Error>").WriteTo(w)
	}))
	t.Cleanup(refuses.Close)
	folder := t.TempDir()
	const again = "; the next `em-infra up` or `em-infra etcd snapshot` copies it"
	for _, test := range []struct {
		name, bucket, standIn, after string
		objects                      string // where the copy is
	}{
		{name: "no bucket"},
		{name: "a folder", bucket: address.OfFolder(folder), after: " and file://" + folder, objects: folder},
		{name: "a rehearsal", bucket: "s3://backups?region=eu-central-1", standIn: address.OfFolder(filepath.Join(folder, "lab")), after: " and file://" + filepath.Join(folder, "lab"), objects: filepath.Join(folder, "lab")},
		{
			name: "a bucket that refuses", bucket: "s3://backups?anonymous=true&region=us-east-1&use_path_style=true&endpoint=" + refuses.URL,
			after: "; warning: it is on this machine alone, because the bucket s3://backups refuses the key (AccessDenied): give the key rights, with which it may list, read, write and delete there" + again,
		},
		{
			name: "a share that is not mounted", bucket: "file:///no/such/share",
			after: "; warning: it is on this machine alone, because there is no folder /no/such/share: mount it or create it" + again,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			here := t.TempDir()
			kept, err := keepIn(t, test.bucket, stacks.Options{Snapshots: here, BucketStandIn: test.standIn})
			require.NoError(t, err)
			require.Equal(t, filepath.Join(here, "2026-11-20T22-15-00-before-up.snap.age"), kept.Path)
			require.Equal(t, kept.Path+test.after, kept.Text())
			sealed, err := os.ReadFile(kept.Path)
			require.NoError(t, err)
			require.FileExists(t, filepath.Join(here, "2026-11-20T22-15-00-before-up.json"))
			if test.objects == "" {
				return
			}
			copied, err := os.ReadFile(filepath.Join(test.objects, "home", "etcd", filepath.Base(kept.Path)))
			require.NoError(t, err)
			require.Equal(t, sealed, copied, "sealed as it is")
		})
	}
}

// TestASnapshotThatTheBucketRefusedIsSentWithTheNextOne, against an S3 server whose bucket is missing at first.
func TestASnapshotThatTheBucketRefusedIsSentWithTheNextOne(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	url, options := s3test.Start(t), stacks.Options{Snapshots: t.TempDir()}
	missing := "s3://other" + url[len("s3://states"):]
	for range 2 {
		kept, err := keepIn(t, missing, options)
		require.NoError(t, err)
		require.EqualError(t, kept.NotInBucket, "there is no bucket s3://other (NoSuchBucket): create it, or correct its URL")
	}
	kept, err := keepIn(t, url, options)
	require.NoError(t, err)
	require.NoError(t, kept.NotInBucket)
	require.NoError(t, kept.NotSent)
	require.Equal(t, []string{"2026-11-20T22-15-00-before-up-2", "2026-11-20T22-15-00-before-up"}, kept.Sent)
	require.Equal(t, kept.Path+" and s3://states, which has 2026-11-20T22-15-00-before-up-2, 2026-11-20T22-15-00-before-up now, too", kept.Text())

	again, err := keepIn(t, url, options)
	require.NoError(t, err)
	require.Empty(t, again.Sent)
	require.Equal(t, again.Path+" and s3://states", again.Text())
}
