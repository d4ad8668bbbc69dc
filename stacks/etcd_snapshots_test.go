package stacks_test

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
	"github.com/em-infra/em-infra/internal/etcdsnapshot/snapshottest"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/stacks"
)

// keep keeps a snapshot of a cluster whose inventory names that bucket.
func keep(t *testing.T, bucket string, options stacks.Options) (stacks.KeptSnapshot, error) {
	t.Helper()
	text := snapshottest.Signed(snapshottest.Database(t, 2, 3))
	inv := &inventory.Inventory{}
	inv.Cluster.Name = "k3s-dev"
	if bucket != "" {
		require.NoError(t, inv.Cluster.Backups.Bucket.UnmarshalText([]byte(bucket)))
	}
	options.Env = map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}
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
			kept, err := keep(t, test.bucket, stacks.Options{Snapshots: here, BucketStandIn: test.standIn})
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

// TestAKeyServiceSealsNoSnapshot: a passphrase in the environment is that of another stack then, and only recipients seal.
func TestAKeyServiceSealsNoSnapshot(t *testing.T) {
	t.Parallel()
	options := stacks.Options{Snapshots: t.TempDir(), SecretsProvider: "awskms://alias/states", Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "correct horse"}}
	inv := &inventory.Inventory{}
	_, err := stacks.SnapshotStore("home", inv, options)
	require.EqualError(t, err, "the secrets of stack home are sealed by awskms://alias/states, so it has no passphrase for snapshots of etcd and recovery kits: "+
		"add an age recipient to backups.recipients in cluster.yaml")
	for _, provider := range []string{"", "default", "passphrase"} {
		options.SecretsProvider = provider
		store, err := stacks.SnapshotStore("home", inv, options)
		require.NoError(t, err, provider)
		require.Len(t, store.Recipients, 1)
	}

	var recipient inventory.Recipient
	require.NoError(t, recipient.UnmarshalText([]byte(sopstest.NewKey(t).Recipient().String())))
	inv.Cluster.Backups.Recipients = append(inv.Cluster.Backups.Recipients, recipient)
	options.SecretsProvider = "awskms://alias/states"
	store, err := stacks.SnapshotStore("home", inv, options)
	require.NoError(t, err)
	require.Equal(t, recipient.Key(), store.Recipients[0])
}
